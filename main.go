// Twinlog runs a Kafka-mode cluster and a Pulsar-mode cluster side by side on one log core, shows every step that they take in a browser,
// and checks labs against what they really did. This file puts the command together out of those that each area owns.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"twinlog/bench"
	"twinlog/engine/dump"
	"twinlog/labs"
	"twinlog/labs/labtest"
	"twinlog/labs/pulsarclient"
	"twinlog/labs/zookeeperclient"
)

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(arguments []string) int {
	root := rootCommand(time.Now())
	root.SetArgs(arguments)
	if err := root.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "twinlog:", err)
		return 1
	}
	return 0
}

// rootCommand is the whole command. Started is when the process began, for "ready in".
func rootCommand(started time.Time) *cobra.Command {
	root := &cobra.Command{
		Use:           "twinlog",
		Short:         "A lab for learning how Kafka and Pulsar work",
		SilenceUsage:  true, // an error says what to do itself
		SilenceErrors: true,
	}
	root.AddCommand(upCommand(started), nodeCommand(started), labs.Command(labtest.Commands()...), pulsarclient.Command(), zookeeperclient.Command(), dump.Command(), bench.Command())
	return root
}
