// Package pulsarsuite exists to pin the version of pulsar-client-go whose own tests are run, unmodified, against a classroom on the
// default ports: see run.sh. It is a module of its own, so that the needs of those tests are not the program's.
package pulsarsuite

import _ "github.com/apache/pulsar-client-go/pulsar"
