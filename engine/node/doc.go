// Package node turns a Config and its surroundings (network, disk, tracer) into one running node, whatever its role.
package node
