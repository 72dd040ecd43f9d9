package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kgo"
)

type bench struct {
	report    report
	program   string // twinlog
	peer      string // the fake cluster; empty: left out
	directory string
	rounds    int
	diskMiB   int
	reopenMiB int
	messages  int
	only      []string // names of measurements; empty: all
	cleanups  []func()
}

// Command is `twinlog bench`: everything that can be measured on this machine, one after the other.
func Command() *cobra.Command {
	b := &bench{}
	command := &cobra.Command{
		Use: "bench", Short: "Measure the engines, each beside a limit or a peer", Args: cobra.NoArgs, SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if err := b.checkOnly(); err != nil {
				return err
			}
			b.report = report{command.OutOrStdout()}
			if b.program, err = os.Executable(); err != nil {
				return err
			}
			defer func() {
				for _, cleanup := range b.cleanups {
					cleanup()
				}
			}()
			return b.run(command.Context())
		},
	}
	command.Flags().StringVar(&b.peer, "kafka-peer", "", "program of the fake Kafka cluster to compare with (bench/kfakepeer)")
	command.Flags().StringVar(&b.directory, "directory", "", "where files are written; the temporary directory unless told")
	command.Flags().IntVar(&b.rounds, "rounds", 5, "rounds of each measurement")
	command.Flags().IntVar(&b.diskMiB, "disk-mib", 512, "MiB written in one round of the disk measurements")
	command.Flags().IntVar(&b.reopenMiB, "reopen-mib", 10240, "MiB of clean segments that are opened again; fewer where the disk has no room")
	command.Flags().IntVar(&b.messages, "messages", 100_000, "messages of 1 KiB in one round of the client measurements")
	command.Flags().StringSliceVar(&b.only, "only", nil, "measure these alone: log, ensemble, start, kafka, pulsar, tracing")
	return command
}

func (b *bench) run(ctx context.Context) error {
	b.report.line("machine", fmt.Sprintf("%d cores, %s/%s, %s", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()))
	b.report.line("figures", fmt.Sprintf("median (smallest–largest) of %d rounds", b.rounds))
	for _, each := range b.measurements() {
		if len(b.only) > 0 && !slices.Contains(b.only, each.name) {
			continue
		}
		if err := each.measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

type measurement struct {
	name    string
	measure func(context.Context) error
}

func (b *bench) measurements() []measurement {
	return []measurement{
		{"log", func(context.Context) error { return b.measureLog() }},
		{"ensemble", b.measureEnsemble},
		{"start", b.measureStart},
		{"kafka", b.measureKafka},
		{"pulsar", b.measurePulsar},
		{"tracing", b.measureTracing},
	}
}

// checkOnly refuses names that measure nothing.
func (b *bench) checkOnly() error {
	var names []string
	for _, each := range b.measurements() {
		names = append(names, each.name)
	}
	for _, name := range b.only {
		if !slices.Contains(names, name) {
			return fmt.Errorf("--only %s: there are %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

func (b *bench) measureStart(context.Context) error {
	b.report.title("start-up: 3 ensemble servers, 3 Kafka-mode brokers, 2 Pulsar-mode brokers, 4 bookies, the page")
	var ready, resident samples
	for range b.rounds {
		c, err := b.startClassroom()
		if err != nil {
			return err
		}
		ready = append(ready, float64(c.ready.Milliseconds()))
		time.Sleep(2 * time.Second) // idle memory is what is left when the start has settled
		resident = append(resident, c.residentMiB())
		c.stop()
	}
	b.report.line("from the process's start until everything serves, ms", ready.spread("%.0f"))
	b.report.line("resident memory, idle for 2 s, MiB", resident.spread("%.0f"))
	return nil
}

var ackLevels = []struct {
	name string
	acks kgo.Acks
}{{"acks=1", kgo.LeaderAck()}, {"acks=all", kgo.AllISRAcks()}}

const benchPartitions = 3

func (b *bench) measureKafka(ctx context.Context) error {
	b.report.title(fmt.Sprintf("Kafka-mode: produce %d records of 1 KiB to %d partitions with 3 replicas; client in another process", b.messages, benchPartitions))
	ours, peers := map[string]samples{}, map[string]samples{}
	for range b.rounds {
		if err := b.kafkaRound(ctx, ours, peers); err != nil {
			return err
		}
	}
	for _, level := range ackLevels {
		b.report.line(level.name+": Kafka-mode, MB/s", ours[level.name].spread("%.0f"))
		if b.peer != "" {
			b.report.line(level.name+": fake cluster in memory, one copy, MB/s", peers[level.name].spread("%.0f"))
			b.report.line(level.name+": Kafka-mode / fake cluster, %", ours[level.name].over(peers[level.name]).percent().spread("%.0f"))
		}
	}
	return nil
}

// kafkaRound measures ours and the peer one after the other, each on a fresh server.
func (b *bench) kafkaRound(ctx context.Context, ours, peers map[string]samples) error {
	c, err := b.startClassroom()
	if err != nil {
		return err
	}
	err = createBenchTopic(ctx, c.kafka(), benchPartitions)
	for _, level := range ackLevels {
		if err == nil {
			var rate float64
			rate, err = produceKafka(ctx, c.kafka(), level.acks, b.messages)
			ours[level.name] = append(ours[level.name], rate)
		}
	}
	c.stop()
	if err != nil || b.peer == "" {
		return err
	}
	offset, err := freeOffset()
	if err != nil {
		return err
	}
	seeds := addresses(9092+offset, 3)
	peer, err := startServer(b.peer, strconv.Itoa(9092+offset), strconv.Itoa(9093+offset), strconv.Itoa(9094+offset), strconv.Itoa(benchPartitions))
	if err != nil {
		return err
	}
	defer peer.stop()
	for _, level := range ackLevels {
		rate, err := produceKafka(ctx, seeds, level.acks, b.messages)
		if err != nil {
			return err
		}
		peers[level.name] = append(peers[level.name], rate)
	}
	return nil
}

func (b *bench) measurePulsar(ctx context.Context) error {
	b.report.title(fmt.Sprintf("Pulsar-mode: publish %d messages of 1 KiB, ensemble 3, write quorum 2, ack quorum 2, every bookie syncs before it acknowledges", b.messages))
	var rates samples
	for range b.rounds {
		c, err := b.startClassroom()
		if err != nil {
			return err
		}
		rate, err := publishPulsar(ctx, c.pulsar(), "persistent://public/default/bench", b.messages)
		c.stop()
		if err != nil {
			return err
		}
		rates = append(rates, rate)
	}
	b.report.line("publish, MB/s", rates.spread("%.0f"))
	return nil
}

func (b *bench) measureTracing(ctx context.Context) error {
	b.report.title("Tracing: produce throughput with acks=all, with the trace and without")
	var with, without samples
	for range b.rounds {
		for _, variant := range []struct {
			into      *samples
			arguments []string
		}{{&with, nil}, {&without, []string{"--no-trace"}}} {
			c, err := b.startClassroom(variant.arguments...)
			if err != nil {
				return err
			}
			var rate float64
			if err = createBenchTopic(ctx, c.kafka(), benchPartitions); err == nil {
				rate, err = produceKafka(ctx, c.kafka(), kgo.AllISRAcks(), b.messages)
			}
			c.stop()
			if err != nil {
				return err
			}
			*variant.into = append(*variant.into, rate)
		}
	}
	b.report.line("with the trace, MB/s", with.spread("%.0f"))
	b.report.line("without, MB/s", without.spread("%.0f"))
	cost := samples{}
	for _, ratio := range with.over(without) {
		cost = append(cost, 100-100*ratio)
	}
	b.report.line("the trace costs, % of throughput", cost.spread("%.1f"))
	return nil
}
