package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anishathalye/porcupine"

	"twinlog/engine/disk"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/fabric"
)

// TestSimulation runs an ensemble in memory through crashes, lost disks, cut and slow links and changes of its members, and checks what
// its clients saw. A seed decides what is done when; goroutines are scheduled as they are. ENSEMBLE_SEED runs one seed, ENSEMBLE_SEEDS
// so many, ENSEMBLE_LOG_FILE=FILE writes to FILE.SEED what the servers say. Over all seeds, everything that the simulation is there for must
// have happened.
func TestSimulation(t *testing.T) {
	first, count := uint64(1), 20
	if testing.Short() {
		count = 5
	}
	if text := os.Getenv("ENSEMBLE_SEED"); text != "" {
		first, _ = strconv.ParseUint(text, 10, 64)
		count = 1
	}
	if text := os.Getenv("ENSEMBLE_SEEDS"); text != "" {
		count, _ = strconv.Atoi(text)
	}
	happened := counts{}
	for seed := first; seed < first+uint64(count); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { happened.add(simulate(t, seed)) })
		})
	}
	t.Logf("%d seeds: %v", count, happened)
	if count < 20 {
		return
	}
	for _, what := range simulated {
		if happened[what] == 0 {
			t.Errorf("in %d seeds there was never: %s", count, what)
		}
	}
}

// simulated is what must happen in 20 seeds, or the simulation does not test what it is there for.
var simulated = []string{
	operationsDone, "kill", "start", "cut", "slow", "heal", "wipe", "freeze", "sync error", snapshotWritten, logFilesDropped, caughtUpBySnapshot,
	joinedBySnapshot, sessionMoved, sessionLost, "3 -> 5 servers", "5 -> 3 servers", "retired",
}

const (
	operationsDone     = "operations"
	snapshotWritten    = "snapshots written"
	logFilesDropped    = "log files dropped"
	caughtUpBySnapshot = "caught up by snapshot"
	joinedBySnapshot   = "joined by snapshot"
	waitsToJoin        = "waits to be made a member"
	sessionMoved       = "session moved to another server"
	sessionLost        = "session expired"
)

const (
	simulatedServers = 5 // the first three found the ensemble
	simulatedClients = 4
	simulatedSeconds = 30
	simulatedKeys    = 3
)

// counts is how often things happened.
type counts map[string]int

func (c counts) add(more counts) {
	for what, times := range more {
		c[what] += times
	}
}

type simulation struct {
	t       *testing.T
	random  *rand.Rand
	fabric  *fabric.Fabric
	disks   map[int]*disk.Memory
	lives   map[int]*life
	members []int         // who votes, as far as is known
	change  *memberChange // the one on its way
	adjust  func(*server.Config)
	began   time.Time
	log     io.Writer // what the servers say, all of it; nil when nobody wants to read it
	last    lastWords // what they said at the end, without details: for a failure that does not come again

	mu       sync.Mutex
	happened counts
	history  []porcupine.Operation
}

// life is one run of a server.
type life struct {
	server *server.Server
	blank  bool // it had nothing on its disk
	view   *fabric.View
	faults *disk.Faults
	cancel context.CancelFunc
	done   chan error
}

func nodeName(id int) string         { return fmt.Sprintf("ensemble-%d", id) }
func simulatedAddress(id int) string { return nodeName(id) + ":2181" }
func simulatedPeer(id int) string    { return nodeName(id) + ":2888" }

// newSimulation has nothing running yet.
func newSimulation(t *testing.T, seed uint64) *simulation {
	return &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), fabric: fabric.NewMemory(), disks: map[int]*disk.Memory{}, lives: map[int]*life{},
		members: []int{1, 2, 3}, happened: counts{}, began: time.Now(),
	}
}

func simulate(t *testing.T, seed uint64) counts {
	s := newSimulation(t, seed)
	if name := os.Getenv("ENSEMBLE_LOG_FILE"); name != "" {
		file, err := os.Create(fmt.Sprintf("%s.%d", name, seed))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s.log = file
	}
	defer func() {
		if t.Failed() {
			t.Logf("the last that was said in seed %d:\n%s", seed, s.last)
		}
	}()
	simulation, end := context.WithCancel(context.Background())
	defer func() {
		end()
		s.killAll()
		if s.change != nil {
			<-s.change.done
		}
	}()
	for _, id := range s.members {
		s.start(id)
	}
	for id := range s.lives {
		<-s.lives[id].server.Ready()
	}
	ctx, stop := context.WithTimeout(context.Background(), simulatedSeconds*time.Second)
	defer stop()
	var clients sync.WaitGroup
	for number := range simulatedClients {
		c := &simulatedClient{s: s, number: number, random: rand.New(rand.NewPCG(seed, uint64(100+number))), versions: map[int]int32{}}
		clients.Go(func() { c.run(ctx) })
	}
	s.disturb(ctx, simulation, faultsOf(seed))
	clients.Wait()
	s.healAll()
	s.checkHistory()
	s.checkServersAgree()
	s.count(operationsDone, len(s.history))
	happened := s.counted()
	t.Logf("seed %d: %v", seed, happened)
	return happened
}

// counted is what has happened until now: the servers run on and count more.
func (s *simulation) counted() counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.happened)
}

func (s *simulation) count(what string, times int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.happened[what] += times
	s.noteLocked("%s", what)
}

// lastWords keeps the end of what is written to it, between half of mostLastWords and all.
type lastWords []byte

const mostLastWords = 128 << 10

func (l *lastWords) Write(words []byte) (int, error) {
	if len(*l)+len(words) > mostLastWords {
		*l = append((*l)[:0], (*l)[len(*l)/2:]...)
	}
	*l = append(*l, words...)
	return len(words), nil
}

// note writes to the log what the simulation does.
func (s *simulation) note(format string, arguments ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteLocked(format, arguments...)
}

func (s *simulation) noteLocked(format string, arguments ...any) {
	to := io.Writer(&s.last)
	if s.log != nil {
		to = s.log
	}
	fmt.Fprintf(to, "%9.3f "+format+"\n", append([]any{time.Since(s.began).Seconds()}, arguments...)...)
}

// start starts a server. One with nothing on its disk is configured with those who are members now.
func (s *simulation) start(id int) {
	peers := map[int]string{}
	for _, member := range s.members {
		peers[member] = simulatedPeer(member)
	}
	s.startWith(id, peers)
}

func (s *simulation) startWith(id int, peers map[int]string) {
	s.note("server %d starts, with the members %v; it has a disk: %v", id, s.members, s.disks[id] != nil)
	l := &life{view: s.fabric.Of(nodeName(id)), done: make(chan error, 1)}
	if s.disks[id] == nil {
		s.disks[id] = disk.NewMemory()
		l.blank = time.Since(s.began) > 0 // and it is no founder
	}
	l.faults = disk.NewFaults(s.disks[id])
	config := server.Config{
		ID: id, Peers: peers, ClientAddress: simulatedAddress(id), PeerAddress: simulatedPeer(id), Network: l.view, Disk: l.faults,
		Logger: slog.New(simulationLog{s, l}), TickTime: time.Second, SnapshotEntries: 30, KeptEntries: 10, LogSegmentBytes: 2 << 10,
		ReconfigEnabled: true, SuperDigest: "super:" + server.Digest("super:test"),
	}
	if s.adjust != nil {
		s.adjust(&config)
	}
	var err error
	if l.server, err = server.New(config); err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	s.lives[id] = l
	go func() { l.done <- l.server.Run(ctx) }()
}

// kill is a crash: network and disk are gone, then the process, and what was not synced.
func (s *simulation) kill(id int) {
	s.note("server %d is killed", id)
	l := s.lives[id]
	delete(s.lives, id)
	l.view.Sever()
	l.faults.Sever()
	l.cancel()
	if err := <-l.done; err != nil && !errors.Is(err, disk.ErrSevered) && !errors.Is(err, errBroken) {
		s.t.Errorf("server %d: %v", id, err)
	}
	s.disks[id].Crash(s.random)
}

// killAll ends also a simulation that failed: a server that went on would keep the bubble's time running for ever.
func (s *simulation) killAll() {
	for _, id := range s.running() {
		s.kill(id)
	}
}

// running lists the servers that run, in order.
func (s *simulation) running() []int { return slices.Sorted(maps.Keys(s.lives)) }

// simulationLog counts what a server says it has done.
type simulationLog struct {
	s *simulation
	l *life
}

func (l simulationLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo || l.s.log != nil
}
func (l simulationLog) WithAttrs([]slog.Attr) slog.Handler { return l }
func (l simulationLog) WithGroup(string) slog.Handler      { return l }

func (l simulationLog) Handle(_ context.Context, record slog.Record) error {
	attributes := map[string]slog.Value{}
	record.Attrs(func(a slog.Attr) bool { attributes[a.Key] = a.Value; return true })
	s := l.s
	s.mu.Lock()
	defer s.mu.Unlock()
	var said strings.Builder
	record.Attrs(func(a slog.Attr) bool { fmt.Fprintf(&said, " %s=%v", a.Key, a.Value); return true })
	s.noteLocked("%s: %s%s", l.l.view.Node(), record.Message, &said)
	if record.Level < slog.LevelInfo {
		return nil
	}
	switch record.Message {
	case "a snapshot of the tree is on disk":
		s.happened[snapshotWritten]++
		s.happened[logFilesDropped] += int(attributes["droppedLogFiles"].Int64())
	case "a server with nothing on its disk waits to be made a member":
		s.happened[waitsToJoin]++
	case "a snapshot of the leader replaces this server's tree":
		if l.l.blank {
			s.happened[joinedBySnapshot]++
			l.l.blank = false
		} else {
			s.happened[caughtUpBySnapshot]++
		}
	}
	return nil
}
