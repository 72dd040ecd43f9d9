package pulsarclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
	"github.com/spf13/cobra"
)

// Command is `twinlog pulsar-client …`.
func Command() *cobra.Command {
	var url string
	command := &cobra.Command{
		Use: "pulsar-client", Short: "Publish to a Pulsar topic and read from it, as Apache Pulsar's tool of this name does",
		Long: "A Pulsar client with the words of Apache Pulsar's tool of the same name. It is an ordinary client: it also works with other Pulsar clusters.",
	}
	command.PersistentFlags().StringVar(&url, "url", "pulsar://localhost:6650", "the service: pulsar://HOST:PORT, or several of them, pulsar://HOST:PORT,HOST:PORT")
	command.AddCommand(produceCommand(&url), consumeCommand(&url))
	return command
}

func produceCommand(url *string) *cobra.Command {
	var sending sending
	command := &cobra.Command{
		Use: "produce TOPIC", Short: "Publish messages: those of -m, or else each line of standard input", Args: oneTopic,
		Example: "  twinlog pulsar-client produce orders -m order -n 20\n  seq 1 20 | twinlog pulsar-client produce orders",
		RunE: func(command *cobra.Command, args []string) error {
			if err := sending.check(); err != nil {
				return err
			}
			return connected(*url, func(ctx context.Context, client pulsar.Client) error {
				return sending.produce(ctx, attaching{client, *url, args[0], command.ErrOrStderr()}, command.InOrStdin(), command.OutOrStdout())
			})
		},
	}
	flags := command.Flags()
	flags.StringArrayVarP(&sending.messages, "messages", "m", nil, "a message; may be given several times")
	flags.IntVarP(&sending.times, "num-produce", "n", 1, "how often the messages of -m are sent")
	flags.StringVarP(&sending.key, "key", "k", "", "the key of all messages")
	return command
}

func consumeCommand(url *string) *cobra.Command {
	var receiving receiving
	command := &cobra.Command{
		Use: "consume TOPIC", Short: "Receive messages, print and acknowledge them", Args: oneTopic,
		Long: "Receives messages, prints each as LEDGER:ENTRY and its text, and acknowledges it.\n" +
			"The subscription is made when it is not there, and stays when the program ends.",
		Example: "  twinlog pulsar-client consume orders -s readers -p Earliest -n 20",
		RunE: func(command *cobra.Command, args []string) error {
			if err := receiving.check(); err != nil {
				return err
			}
			return connected(*url, func(ctx context.Context, client pulsar.Client) error {
				return receiving.consume(ctx, attaching{client, *url, args[0], command.ErrOrStderr()}, command.OutOrStdout())
			})
		},
	}
	flags := command.Flags()
	flags.StringVarP(&receiving.subscription, "subscription-name", "s", "", "the subscription")
	flags.IntVarP(&receiving.count, "num-messages", "n", 1, "how many messages; 0: until Ctrl-C")
	flags.StringVarP(&receiving.kind, "subscription-type", "t", "Exclusive", "Exclusive, Shared, Failover or Key_Shared")
	flags.StringVarP(&receiving.position, "subscription-position", "p", "Latest", "where a new subscription begins: Latest or Earliest")
	return command
}

// connected does something with a client, until it is done or Ctrl-C.
func connected(url string, do func(context.Context, pulsar.Client) error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	client, err := pulsar.NewClient(pulsar.ClientOptions{URL: url, OperationTimeout: 5 * time.Second, ConnectionTimeout: 5 * time.Second, Logger: log.DefaultNopLogger()})
	if err != nil {
		return fmt.Errorf("--url %s: %w; it looks like pulsar://127.0.0.1:6650", url, err)
	}
	defer client.Close()
	return do(ctx, client)
}

// attaching is what a producer or consumer is attached with.
type attaching struct {
	client pulsar.Client
	url    string // as --url says it
	topic  string
	told   io.Writer // what is not a message
}

// attachPatience is how long it tries: while the owner of a topic is dead and its session has not expired, every lookup leads to it.
const attachPatience = 45 * time.Second

// attach tries until it succeeds, or trying again is of no use.
func attach[T any](ctx context.Context, to attaching, what string, try func() (T, error)) (attached T, err error) {
	ctx, cancel := context.WithTimeout(ctx, attachPatience)
	defer cancel()
	var last error // what came of the last try that ended by itself
	for {
		if attached, err = tryOnce(ctx, try); err == nil {
			return attached, nil
		}
		if ctx.Err() != nil || hopeless(err) {
			return attached, fmt.Errorf("%s %s, asking %s (--url): %w", what, to.topic, to.url, cmp.Or(last, err))
		}
		if last == nil {
			if err := printed(to.told, "%s %s, asking %s (--url): %s. Trying again for %.0f s: a dead broker's topics get another owner in the end", what, to.topic, to.url, oneLine(err), attachPatience.Seconds()); err != nil {
				return attached, err
			}
		}
		last = err
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", ": ") }

// tryOnce lets Ctrl-C end what takes no context.
func tryOnce[T any](ctx context.Context, try func() (T, error)) (T, error) {
	type result struct {
		attached T
		err      error
	}
	results := make(chan result, 1)
	go func() {
		attached, err := try()
		results <- result{attached, err}
	}()
	select {
	case r := <-results:
		return r.attached, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// hopeless tells what does not go away by waiting.
func hopeless(err error) bool {
	var refused *pulsar.Error
	if !errors.As(err, &refused) {
		return strings.Contains(err.Error(), "opic") || strings.Contains(err.Error(), "ConsumerBusy") // its name is none, or it is taken
	}
	switch refused.Result() {
	case pulsar.ConsumerBusy, pulsar.InvalidTopicName, pulsar.InvalidConfiguration, pulsar.AuthenticationError, pulsar.AuthorizationError:
		return true
	}
	return false
}

// oneTopic wants the topic and nothing else.
func oneTopic(command *cobra.Command, args []string) error {
	if len(args) == 1 && args[0] != "" {
		return nil
	}
	return fmt.Errorf("name one topic: twinlog pulsar-client %s; a message of several words stands in quotes", command.Use)
}

// printed writes a line; that nobody reads it any more ends the program.
func printed(out io.Writer, format string, arguments ...any) error {
	_, err := fmt.Fprintf(out, format+"\n", arguments...)
	return err
}
