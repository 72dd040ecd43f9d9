// Command kfakepeer serves franz-go's in-memory fake cluster, the peer that `make bench` measures Kafka-mode against: it keeps
// records in memory, replicates nothing and writes nothing, so it bounds what the client can send.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run takes three free ports and a number of partitions as arguments.
func run() error {
	if len(os.Args) != 5 {
		return fmt.Errorf("usage: kfakepeer PORT PORT PORT PARTITIONS")
	}
	var numbers []int
	for _, argument := range os.Args[1:] {
		number, err := strconv.Atoi(argument)
		if err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	cluster, err := kfake.NewCluster(kfake.Ports(numbers[0], numbers[1], numbers[2]), kfake.SeedTopics(int32(numbers[3]), "bench"))
	if err != nil {
		return err
	}
	defer cluster.Close()
	fmt.Println("ready in kfake")
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	<-interrupted
	return nil
}
