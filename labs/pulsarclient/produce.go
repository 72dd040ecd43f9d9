package pulsarclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/pulsar-client-go/pulsar"
)

// sending is what `produce` was asked for.
type sending struct {
	messages []string
	times    int
	key      string
}

// longestLine bounds a line of standard input; a broker takes messages of up to 5 MiB.
const longestLine = 5 << 20

// check tells what is wrong with it, before anything is done.
func (s sending) check() error {
	if s.times < 1 {
		return fmt.Errorf("-n is at least 1, not %d", s.times)
	}
	return nil
}

// produce publishes one message after the other, each when the one before it has been acknowledged: what is told in the end is stored.
func (s sending) produce(ctx context.Context, to attaching, in io.Reader, out io.Writer) error {
	producer, err := attach(ctx, to, "attach a producer to", func() (pulsar.Producer, error) {
		return to.client.CreateProducer(pulsar.ProducerOptions{Topic: to.topic, DisableBatching: true}) // each message is an entry of its own
	})
	if err != nil {
		return err
	}
	defer producer.Close()
	sent := 0
	send := func(text string) error {
		if _, err := producer.Send(ctx, &pulsar.ProducerMessage{Payload: []byte(text), Key: s.key}); err != nil {
			return fmt.Errorf("publish message %d to %s: %w", sent+1, to.topic, err)
		}
		sent++
		return nil
	}
	if err := s.each(in, send); err != nil {
		return errors.Join(err, printed(out, "%d messages successfully produced", sent))
	}
	return printed(out, "%d messages successfully produced", sent)
}

// each gives the messages of -m so often as was asked for, or the lines of standard input.
func (s sending) each(in io.Reader, send func(string) error) error {
	if len(s.messages) == 0 {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, longestLine)
		for lines.Scan() {
			if err := send(lines.Text()); err != nil {
				return err
			}
		}
		return lines.Err()
	}
	for range s.times {
		for _, message := range s.messages {
			if err := send(message); err != nil {
				return err
			}
		}
	}
	return nil
}
