// Package interop runs clients that nobody here wrote against a classroom as a student starts it: the built program, real TCP, real
// files.
package interop

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var program string

// TestMain builds the program once, unless TWINLOG_BIN names it.
func TestMain(m *testing.M) {
	os.Exit(func() int {
		if program = os.Getenv("TWINLOG_BIN"); program != "" {
			return m.Run()
		}
		dir, err := os.MkdirTemp("", "interop")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "twinlog")
		build := exec.Command("go", "build", "-o", program, "twinlog")
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "build twinlog:", err)
			return 1
		}
		return m.Run()
	}())
}

// tool returns the path of a program that a test needs. Where it is missing the test is skipped, except in CI, which installs it.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
	return path
}

// classroom is a running `twinlog up`.
type classroom struct {
	t       *testing.T
	offset  int
	data    string
	command *exec.Cmd
	exited  chan struct{} // closed once the process has ended and err is set
	err     error
	ready   time.Duration // from the process's start to its ready line

	mu     sync.Mutex
	output bytes.Buffer
}

func (c *classroom) port(base int) int { return base + c.offset }

func (c *classroom) kafka() string {
	return fmt.Sprintf("127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", c.port(9092), c.port(9093), c.port(9094))
}

func (c *classroom) pulsar() string {
	return fmt.Sprintf("pulsar://127.0.0.1:%d,127.0.0.1:%d", c.port(6650), c.port(6651))
}

func (c *classroom) zookeeper() []string {
	return []string{fmt.Sprintf("127.0.0.1:%d", c.port(2181)), fmt.Sprintf("127.0.0.1:%d", c.port(2182)), fmt.Sprintf("127.0.0.1:%d", c.port(2183))}
}

func (c *classroom) page() string { return fmt.Sprintf("http://127.0.0.1:%d", c.port(7700)) }

var ports = []int{2181, 2182, 2183, 9092, 9093, 9094, 6650, 6651, 8080, 8081, 3181, 3182, 3183, 3184, 7700}

// freeOffset finds a port offset under which every default port is free.
func freeOffset(t *testing.T) int {
	t.Helper()
	for range 100 {
		offset := 10000 + rand.IntN(120)*100 // below the range from which the system gives out ports
		if allFree(offset) {
			return offset
		}
	}
	t.Fatal("no port offset with all ports free was found")
	return 0
}

func allFree(offset int) bool {
	for _, port := range ports {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+offset))
		if err != nil {
			return false
		}
		listener.Close()
	}
	return true
}

// up starts a classroom and waits for its ready line. It is stopped when the test ends.
func up(t *testing.T, arguments ...string) *classroom {
	t.Helper()
	return upAt(t, freeOffset(t), t.TempDir(), arguments...)
}

func upAt(t *testing.T, offset int, data string, arguments ...string) *classroom {
	t.Helper()
	c := &classroom{t: t, offset: offset, data: data, exited: make(chan struct{})}
	c.command = exec.Command(program, append([]string{"up", "--port-offset", fmt.Sprint(offset), "--data", data}, arguments...)...)
	stdout, err := c.command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.command.Stderr = writer(c.write)
	began := time.Now()
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	ready := make(chan time.Duration, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			c.write(append(lines.Bytes(), '\n'))
			if strings.HasPrefix(lines.Text(), "ready in") {
				ready <- time.Since(began)
			}
		}
		c.err = c.command.Wait()
		close(c.exited)
	}()
	select {
	case c.ready = <-ready:
	case <-c.exited:
		t.Fatalf("twinlog up ended: %v\n%s", c.err, c.log())
	case <-time.After(patience):
		t.Fatalf("twinlog up is not ready after %v\n%s", patience, c.log())
	}
	return c
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

func (c *classroom) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.output.Write(p)
}

func (c *classroom) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.output.String()
}

// signal sends a signal and waits until the process has ended.
func (c *classroom) signal(signal syscall.Signal) error {
	if err := c.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		c.t.Fatal(err)
	}
	select {
	case <-c.exited:
		return c.err
	case <-time.After(patience):
		c.command.Process.Kill()
		c.t.Fatalf("twinlog up goes on %v after %v\n%s", patience, signal, c.log())
		return nil
	}
}

func (c *classroom) end() {
	c.command.Process.Signal(os.Interrupt)
	select {
	case <-c.exited:
	case <-time.After(patience):
		c.command.Process.Kill()
		<-c.exited
	}
	if c.t.Failed() {
		log := c.log()
		c.t.Logf("the classroom said:\n%s", log[max(0, len(log)-20000):])
	}
}

// api calls the page's API and decodes the answer into into, unless it is nil.
func (c *classroom) api(method, path string, body, into any) error {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequest(method, c.page()+"/api/v1/"+path, reader)
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}

func (c *classroom) act(node, verb string) {
	c.t.Helper()
	if err := c.api(http.MethodPost, "nodes/"+node+"/"+verb, nil, nil); err != nil {
		c.t.Fatal(err)
	}
}

// patience is how long anything is waited for before a test gives up. It bounds a failure only: a machine that does much else may stand still
// for seconds, and its clusters then hold elections besides.
const patience = 3 * time.Minute

// eventually waits until a condition holds; it fails the test with the last reason when its patience ends.
func eventually(t *testing.T, condition func() error) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := condition()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
