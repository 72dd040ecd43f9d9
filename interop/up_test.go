package interop

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestUpServesWithinTwoSeconds counts from the process's start to the line "ready in …", which is printed once everything serves. What else
// the machine does is not the program's: the fastest of some starts counts, and it may take as much longer as this machine is slower just now
// than it is alone.
func TestUpServesWithinTwoSeconds(t *testing.T) {
	const wanted, starts = 2 * time.Second, 5
	c := up(t)
	fastest, slower := c.ready, slowdown()
	for n := 1; n < starts && fastest > wanted; n++ {
		c.end()
		c = up(t)
		fastest, slower = min(fastest, c.ready), max(slower, slowdown())
	}
	if allowed := time.Duration(float64(wanted) * slower); fastest > allowed {
		t.Errorf("ready after %v; allowed are %v, on a machine that is slower by %.1f", fastest, allowed, slower)
	}
	t.Logf("ready after %v", fastest.Round(time.Millisecond))
	log := c.log()
	for _, port := range ports {
		address := fmt.Sprintf("127.0.0.1:%d", c.port(port))
		if !strings.Contains(log, fmt.Sprint(c.port(port))) {
			t.Errorf("the printed endpoints lack port %d:\n%s", c.port(port), log)
		}
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		conn.Close()
	}
	if err := c.api(http.MethodGet, "ready", nil, nil); err != nil {
		t.Error(err)
	}
	var nodes struct {
		Nodes []struct{ Name, State string }
	}
	if err := c.api(http.MethodGet, "nodes", nil, &nodes); err != nil || len(nodes.Nodes) != 12 {
		t.Errorf("%d nodes: %v", len(nodes.Nodes), err)
	}
	for _, node := range nodes.Nodes {
		if node.State != "running" {
			t.Errorf("%s is %s", node.Name, node.State)
		}
	}
}

// slowdown is how many times longer a piece of work takes now than the processor works at it.
func slowdown() float64 {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	worked := func() time.Duration {
		const ofThisThread = 1 // RUSAGE_THREAD
		var usage syscall.Rusage
		if err := syscall.Getrusage(ofThisThread, &usage); err != nil {
			return 0
		}
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	began, before := time.Now(), worked()
	for worked()-before < 200*time.Millisecond && time.Since(began) < 10*time.Second {
		for n := range 1 << 20 {
			_ = n * n
		}
	}
	return max(1, float64(time.Since(began))/float64(max(worked()-before, time.Millisecond)))
}

// TestUpLeavesNothingBehind: without --data the files are in a temporary directory that Ctrl-C removes.
func TestUpLeavesNothingBehind(t *testing.T) {
	temporary := t.TempDir()
	offset := freeOffset(t)
	command := exec.Command(program, "up", "--port-offset", fmt.Sprint(offset))
	command.Env = append(os.Environ(), "TMPDIR="+temporary)
	var output strings.Builder
	command.Stderr = &output
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	buffer := make([]byte, 4096)
	for !strings.Contains(output.String(), "ready in") {
		n, err := stdout.Read(buffer)
		output.Write(buffer[:n])
		if err != nil {
			t.Fatalf("%v\n%s", err, output.String())
		}
	}
	if entries, _ := os.ReadDir(temporary); len(entries) != 1 {
		t.Errorf("while it runs, the temporary directory has %d entries", len(entries))
	}
	command.Process.Signal(os.Interrupt)
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	select {
	case err := <-exited:
		if err != nil {
			t.Errorf("it ended with %v\n%s", err, output.String())
		}
	case <-time.After(patience):
		command.Process.Kill()
		t.Fatalf("it goes on %v after Ctrl-C", patience)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

// TestATakenPortIsAClearError: it names the port and what can be done, and starts nothing.
func TestATakenPortIsAClearError(t *testing.T) {
	offset := freeOffset(t)
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 9093+offset))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	output, err := exec.Command(program, "up", "--port-offset", fmt.Sprint(offset), "--data", t.TempDir()).CombinedOutput()
	if err == nil {
		t.Fatal("it started")
	}
	for _, want := range []string{fmt.Sprint(9093 + offset), "--port-offset", "kafka"} {
		if !strings.Contains(strings.ToLower(string(output)), want) {
			t.Errorf("the error does not say %q:\n%s", want, output)
		}
	}
	if strings.Contains(string(output), "goroutine") || strings.Count(string(output), "\n") > 5 {
		t.Errorf("the error is no short text:\n%s", output)
	}
}

// TestStopByTerm: SIGTERM, as container runtimes send it, ends it in order.
func TestStopByTerm(t *testing.T) {
	c := up(t)
	if err := c.signal(syscall.SIGTERM); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
