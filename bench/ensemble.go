package bench

import (
	"context"
	"fmt"
	"os"
)

// ensembleCase is one kind of load: every connection has so many requests on their way.
type ensembleCase struct {
	operation   string
	connections int
	inFlight    int // of each connection
}

func (c ensembleCase) String() string {
	return fmt.Sprintf("%s, %dx%d", c.operation, c.connections, c.inFlight)
}

func ensembleCases() (cases []ensembleCase) {
	for _, operation := range []string{"create", "set", "get"} {
		for _, shape := range [][2]int{{1, 1}, {1, 64}, {8, 8}} {
			cases = append(cases, ensembleCase{operation, shape[0], shape[1]})
		}
	}
	return cases
}

// ensembleFigures are one side's results by case.
type ensembleFigures struct{ rates, p99 map[ensembleCase]samples }

func newEnsembleFigures() ensembleFigures {
	return ensembleFigures{rates: map[ensembleCase]samples{}, p99: map[ensembleCase]samples{}}
}

func (f ensembleFigures) add(c ensembleCase, load ensembleLoad) {
	f.rates[c] = append(f.rates[c], load.perSecond())
	f.p99[c] = append(f.p99[c], load.p99Milliseconds())
}

// measureEnsemble loads our ensemble and Apache's ZooKeeper, three processes each, with the same client. Both run through all rounds,
// and only one of them is loaded at a time.
func (b *bench) measureEnsemble(ctx context.Context) error {
	b.report.title("Ensemble: 100 bytes a znode, connections x requests in flight, three servers that sync before they acknowledge")
	directory, err := os.MkdirTemp(b.directory, "ensemble")
	if err != nil {
		return err
	}
	defer os.RemoveAll(directory)
	ours, err := startTwinlogEnsemble(ctx, b.program, directory)
	if err != nil {
		return err
	}
	defer ours.stop()
	peer, missing, err := startZooKeeper(ctx, directory)
	if err != nil {
		return err
	}
	sides := []*zooServers{ours}
	if peer != nil {
		defer peer.stop()
		sides = append(sides, peer)
	} else {
		b.report.line("Apache ZooKeeper is left out", missing)
	}
	figures := []ensembleFigures{newEnsembleFigures(), newEnsembleFigures()}
	if err := b.ensembleRounds(ctx, sides, figures); err != nil {
		return err
	}
	b.reportEnsemble(figures[0], figures[1], peer != nil)
	return nil
}

// ensembleRounds runs a first round that is not counted, in which Java compiles and heaps grow, then the others. The sides take turns
// case by case, and in who begins.
func (b *bench) ensembleRounds(ctx context.Context, sides []*zooServers, figures []ensembleFigures) error {
	for round := range b.rounds + 1 {
		for number, each := range ensembleCases() {
			for turn := range sides {
				at := (turn + round + number) % len(sides)
				load, err := sides[at].load(ctx, each, round)
				if err != nil {
					return fmt.Errorf("%s, %v: %w", sides[at].name, each, err)
				}
				if round > 0 {
					figures[at].add(each, load)
				}
			}
		}
	}
	return nil
}

func (b *bench) reportEnsemble(ours, peers ensembleFigures, compared bool) {
	for _, each := range ensembleCases() {
		b.report.line(each.String()+": ensemble, op/s", ours.rates[each].spread("%.0f"))
		if compared {
			b.report.line(each.String()+": ZooKeeper, op/s", peers.rates[each].spread("%.0f"))
			b.report.line(each.String()+": ensemble / ZooKeeper, %", ours.rates[each].over(peers.rates[each]).percent().spread("%.0f"))
		}
		b.report.line(each.String()+": ensemble, p99 ms", ours.p99[each].spread("%.1f"))
		if compared {
			b.report.line(each.String()+": ZooKeeper, p99 ms", peers.p99[each].spread("%.1f"))
			b.report.line(each.String()+": ensemble / ZooKeeper, p99, %", ours.p99[each].over(peers.p99[each]).percent().spread("%.0f"))
		}
	}
}
