package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/kafka/broker/interbroker"
)

// errUnknownBroker: the broker is not registered, or its metadata has not arrived yet.
var errUnknownBroker = errors.New("its address is not known")

// brokerConnection is a connection to a broker id, wherever that broker listens now: a broker may come back with another address.
type brokerConnection struct {
	broker  *Broker
	to      int32
	purpose string

	mu      sync.Mutex
	current *interbroker.Connection
}

func (b *Broker) connectionTo(id int32, purpose string) *brokerConnection {
	return &brokerConnection{broker: b, to: id, purpose: purpose}
}

// do asks the broker and waits for its answer.
func (c *brokerConnection) do(ctx context.Context, request kmsg.Request) (kmsg.Response, error) {
	connection, err := c.connection()
	if err != nil {
		return nil, err
	}
	return connection.Do(ctx, request)
}

func (c *brokerConnection) connection() (*interbroker.Connection, error) {
	b := c.broker
	live, known := b.metadata.Load().Broker(c.to)
	endpoint, listens := live.Endpoint(b.config.InterBrokerListener)
	if !known || !listens {
		return nil, fmt.Errorf("broker %d: %w", c.to, errUnknownBroker)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && c.current.Address() == endpoint.Address() {
		return c.current, nil
	}
	if c.current != nil {
		c.current.Close()
	}
	c.current = interbroker.NewConnection(interbroker.Config{
		Network: b.config.Network, Tracer: b.config.Tracer, Broker: c.to, Address: endpoint.Address(),
		ClientID: fmt.Sprintf("broker-%d-%s", b.config.BrokerID, c.purpose), TopicNames: b.topicName,
	})
	return c.current, nil
}

func (c *brokerConnection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		c.current.Close()
		c.current = nil
	}
}

// controllerConnection follows the controller from broker to broker.
type controllerConnection struct {
	broker *Broker

	mu      sync.Mutex
	current *brokerConnection
}

// askController sends a request to the broker that is the controller as far as this one knows.
func (b *Broker) askController(ctx context.Context, request kmsg.Request) (kmsg.Response, error) {
	id := b.metadata.Load().ControllerID
	if id < 0 {
		return nil, fmt.Errorf("the controller: %w", errUnknownBroker)
	}
	c := &b.controllerConnection
	c.mu.Lock()
	if c.current == nil || c.current.to != id {
		if c.current != nil {
			c.current.close()
		}
		c.current = b.connectionTo(id, "to-controller")
	}
	connection := c.current
	c.mu.Unlock()
	return connection.do(ctx, request)
}

func (c *controllerConnection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil {
		c.current.close()
	}
}
