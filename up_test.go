package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric/freeport"
	"twinlog/engine/node"
)

// output is what a command prints, readable while it runs.
type output struct {
	mu     sync.Mutex
	text   bytes.Buffer
	served chan struct{} // closed with the line "ready in …"
}

func newOutput() *output { return &output{served: make(chan struct{})} }

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if bytes.HasPrefix(p, []byte("ready in ")) {
		close(o.served)
	}
	return o.text.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// freeOptions are the default classroom on ports that are free.
func freeOptions(t *testing.T) upOptions {
	t.Helper()
	options := upOptions{layout: cluster.DefaultLayout(), pace: string(node.Classroom), logLevel: "error", started: time.Now()}
	for offset := 100 + os.Getpid()%2000; offset < 20000; offset += 701 {
		options.layout.PortOffset = offset
		grown := options.layout // tests add a node of each role
		grown.Ensemble, grown.Kafka, grown.Pulsar, grown.Bookies = grown.Ensemble+1, grown.Kafka+1, grown.Pulsar+1, grown.Bookies+1
		nodes, err := grown.Nodes()
		if err != nil {
			t.Fatal(err)
		}
		addresses := []string{grown.Address(cluster.PortPage)}
		for _, config := range nodes {
			for _, address := range config.Addresses {
				addresses = append(addresses, address.Listen)
			}
		}
		if freeport.Take(addresses...) {
			return options
		}
	}
	t.Fatal("no ports are free")
	return options
}

// start runs up until the returned function is called.
func start(t *testing.T, options upOptions) (out *output, stop func() error) {
	t.Helper()
	out = newOutput()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- up(ctx, options, out) }()
	stop = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-out.served:
	case err := <-ended:
		cancel()
		t.Fatalf("up ended: %v", err)
	case <-time.After(3 * time.Minute):
		t.Fatalf("not ready after three minutes; it printed\n%s\nand stopping it gives %v", out, stop())
	}
	return out, stop
}

func TestUpServesAndLeavesNothing(t *testing.T) {
	// A Pulsar producer of another test's client sleeps on until its send timeout; this test makes none.
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	options := freeOptions(t)
	out, stop := start(t, options)
	response, err := http.Get("http://" + options.layout.Address(cluster.PortPage) + "/api/v1/ready")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	if response.StatusCode != http.StatusOK {
		t.Errorf("GET ready: %s", response.Status)
	}
	for _, want := range []string{"ensemble ", "Kafka ", "Pulsar ", "Pulsar HTTP ", "bookies ", "page ", options.layout.Address(9094)} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); !strings.HasPrefix(lines[len(lines)-1], "ready in ") {
		t.Errorf("the last line is %q", lines[len(lines)-1])
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
}

func TestUpWithATakenPort(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	options := freeOptions(t)
	taken, err := net.Listen("tcp", options.layout.Address(9093))
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	err = up(t.Context(), options, newOutput())
	if err == nil {
		t.Fatal("up ran on a taken port")
	}
	for _, want := range []string{options.layout.Address(9093), "kafka-2", "--port-offset"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %q", want, err)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left in the temporary directory: %v, %v", left, err)
	}
	// The advice is to take other ports. A directory that was named must not belong to those that could not be had.
	options.data = t.TempDir()
	if err := up(t.Context(), options, newOutput()); err == nil {
		t.Fatal("up ran on a taken port")
	}
	options.layout.PortOffset++
	if data, err := openData(options.data, options.layout); err != nil {
		t.Errorf("after a start that failed: %v", err)
	} else if err := data.close(); err != nil {
		t.Error(err)
	}
}

func TestUpKeepsItsData(t *testing.T) {
	options := freeOptions(t)
	options.data = filepath.Join(t.TempDir(), "classroom")
	_, stop := start(t, options)
	if err := up(t.Context(), options, newOutput()); err == nil {
		t.Error("a second twinlog ran beside the first")
	}
	other := freeOptions(t)
	other.data = options.data
	if err := up(t.Context(), other, newOutput()); !errors.Is(err, disk.ErrLocked) {
		t.Errorf("a second twinlog on the same data: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if err := up(t.Context(), other, newOutput()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("--port-offset %d", options.layout.PortOffset)) {
		t.Errorf("the same data on other ports: %v", err)
	}
	_, stop = start(t, options)
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(options.data, "kafka-1")); err != nil {
		t.Errorf("the data is gone: %v", err)
	}
}

func TestUpWithWrongFlags(t *testing.T) {
	for want, change := range map[string]func(*upOptions){
		"--log":   func(o *upOptions) { o.logLevel = "loud" },
		"pace":    func(o *upOptions) { o.pace = "slow" },
		"--kafka": func(o *upOptions) { o.layout.Kafka = -1 },
		"--host nowhere.invalid, which is no address": func(o *upOptions) { o.layout.Host = "nowhere.invalid" },
	} {
		options := freeOptions(t)
		change(&options)
		if err := up(t.Context(), options, newOutput()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestUpTellsWhatItWaitsFor(t *testing.T) {
	nodes := []cluster.NodeStatus{{Name: "ensemble-1", State: cluster.StateRunning}, {Name: "kafka-1", State: cluster.StateStarting}}
	if got := waitingFor(nodes, cluster.Layout{}); got != "still waiting for kafka-1; --log warn tells more" {
		t.Errorf("got %q", got)
	}
	if got := waitingFor(nodes, cluster.Layout{ZooKeeper: []string{"zk:2181"}}); !strings.Contains(got, "kafka-1; does ZooKeeper answer at zk:2181?") {
		t.Errorf("with a real ZooKeeper: got %q", got)
	}
}

type later chan struct{}

func (l later) Ready() <-chan struct{} { return l }

func TestTheAnnouncerSaysThatItTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ready, said := make(later), ""
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(12 * time.Second)
			close(ready)
			time.Sleep(time.Minute)
			cancel()
		}()
		if err := (announcer{[]readier{ready}, func() { said += "ready" }, 5 * time.Second, func() { said += "not yet, " }}).Run(ctx); err != nil {
			t.Fatal(err)
		}
		if said != "not yet, not yet, ready" {
			t.Errorf("it said %q", said)
		}
	})
}
