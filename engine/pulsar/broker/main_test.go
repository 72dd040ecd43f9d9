package broker

import (
	"testing"

	"go.uber.org/goleak"
)

// Every goroutine of a broker ends with it. The client library leaves one behind for each producer with a send timeout, until the
// timeout.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/apache/pulsar-client-go/pulsar.(*partitionProducer).failTimeoutMessages"))
}
