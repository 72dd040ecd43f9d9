// Package node turns a [Config] and its [Surroundings] (network, disk, tracer) into one running node, whatever its role. The code is the
// same for a node among others in one process and for a node alone in a container; only the surroundings differ.
package node
