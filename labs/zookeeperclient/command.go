package zookeeperclient

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// sessionTimeout is what is asked for, as zkCli does; a server gives what it thinks right: 4 s at classroom pace.
const sessionTimeout = 30 * time.Second

// Command is `twinlog zookeeper-client …`.
func Command() *cobra.Command {
	var server string
	command := &cobra.Command{
		Use: "zookeeper-client [COMMAND …]", Short: "Read and write znodes, and watch them, as ZooKeeper's zkCli.sh does",
		Long: "A ZooKeeper client with the words of zkCli.sh. It opens one session and takes commands from standard input, one a line, until quit;\n" +
			"or it does the one command that it is given. It is an ordinary client: it also works with other ZooKeeper servers.\n\n" + help(),
		Example: "  twinlog zookeeper-client\n  twinlog zookeeper-client ls /brokers/ids\n  twinlog zookeeper-client --server localhost:2182 get -s /controller",
		RunE: func(command *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			return run(ctx, strings.Split(server, ","), args, console{in: command.InOrStdin(), out: command.OutOrStdout(), prompt: isTerminal(command.InOrStdin())})
		},
	}
	command.Flags().StringVar(&server, "server", "localhost:2181", "the server: HOST:PORT, or several of them, HOST:PORT,HOST:PORT, to go on with another one when one dies")
	command.Flags().SetInterspersed(false) // what follows COMMAND is its own
	return command
}

// console is where commands come from and where what came of them is printed.
type console struct {
	in     io.Reader
	out    io.Writer
	prompt bool // a person sits before it
}

func isTerminal(in io.Reader) bool {
	file, is := in.(*os.File)
	return is && isatty.IsTerminal(file.Fd())
}

// run opens a session and closes it at the end. Whoever is killed, by Ctrl-C too, has not closed his session: his ephemeral znodes stay
// until it expires, which is a thing to be seen.
func run(ctx context.Context, servers, command []string, at console) error {
	for _, server := range servers {
		if host, port, found := strings.Cut(server, ":"); !found || host == "" || port == "" {
			return fmt.Errorf("--server %s: a server is HOST:PORT, such as 127.0.0.1:2181", strings.Join(servers, ","))
		}
	}
	if len(command) > 0 { // a wrong one needs no server
		if _, err := parse(command); err != nil {
			return err
		}
	}
	events := make(chan zk.Event, 64) // the library's reader waits when nobody prints
	ctx, cancel := context.WithCancel(ctx)
	tell := func(event zk.Event) {
		select {
		case events <- event:
		case <-ctx.Done():
		}
	}
	conn, _, err := zk.Connect(servers, sessionTimeout, zk.WithEventCallback(tell), zk.WithLogger(silent{}))
	if err != nil {
		cancel()
		return fmt.Errorf("--server %s: %w", strings.Join(servers, ","), err)
	}
	defer conn.Close()
	defer cancel() // first: closing waits for the library, which may be telling something
	s := &shell{conn: conn, console: at, events: events, servers: servers}
	if len(command) > 0 {
		return s.once(ctx, command)
	}
	return s.loop(ctx)
}

type silent struct{}

func (silent) Printf(string, ...any) {}
