package pulsarclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
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
		Use: "produce TOPIC", Short: "Publish messages: those of -m, or else each line of standard input", Args: cobra.ExactArgs(1),
		Example: "  twinlog pulsar-client produce orders -m order -n 20\n  seq 1 20 | twinlog pulsar-client produce orders",
		RunE: func(command *cobra.Command, args []string) error {
			return connected(*url, func(ctx context.Context, client pulsar.Client) error {
				return sending.produce(ctx, client, args[0], command.InOrStdin(), command.OutOrStdout())
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
		Use: "consume TOPIC", Short: "Receive messages, print and acknowledge them", Args: cobra.ExactArgs(1),
		Long: "Receives messages, prints each as LEDGER:ENTRY and its text, and acknowledges it.\n" +
			"The subscription is made when it is not there, and stays when the program ends.",
		Example: "  twinlog pulsar-client consume orders -s readers -p Earliest -n 20",
		RunE: func(command *cobra.Command, args []string) error {
			return connected(*url, func(ctx context.Context, client pulsar.Client) error {
				return receiving.consume(ctx, client, args[0], command.OutOrStdout(), command.ErrOrStderr())
			})
		},
	}
	flags := command.Flags()
	flags.StringVarP(&receiving.subscription, "subscription-name", "s", "", "the subscription")
	flags.IntVarP(&receiving.count, "num-messages", "n", 1, "how many messages; 0: until Ctrl-C")
	flags.StringVarP(&receiving.kind, "subscription-type", "t", "Exclusive", "Exclusive, Shared, Failover or Key_Shared")
	flags.StringVarP(&receiving.position, "subscription-position", "p", "Latest", "where a new subscription begins: Latest or Earliest")
	cobra.CheckErr(command.MarkFlagRequired("subscription-name"))
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

// attachPatience is how long a producer or consumer tries to be attached: while the owner of a topic is dead and its session has not
// expired, every lookup leads to it.
const attachPatience = 45 * time.Second

// attach tries until it succeeds, or trying again is of no use.
func attach[T any](ctx context.Context, what string, try func() (T, error)) (attached T, err error) {
	ctx, cancel := context.WithTimeout(ctx, attachPatience)
	defer cancel()
	for {
		if attached, err = try(); err == nil || hopeless(err) {
			break
		}
		select {
		case <-time.After(500 * time.Millisecond):
			continue
		case <-ctx.Done():
		}
		break
	}
	if err != nil {
		return attached, fmt.Errorf("%s: %w", what, err)
	}
	return attached, nil
}

// hopeless tells what does not go away by waiting.
func hopeless(err error) bool {
	var refused *pulsar.Error
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.Result() {
	case pulsar.ConsumerBusy, pulsar.InvalidTopicName, pulsar.InvalidConfiguration, pulsar.AuthenticationError, pulsar.AuthorizationError:
		return true
	}
	return false
}

// printed writes a line; that nobody reads it any more ends the program.
func printed(out io.Writer, format string, arguments ...any) error {
	_, err := fmt.Fprintf(out, format+"\n", arguments...)
	return err
}
