package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// server is a process that prints a line "ready in …" once it serves.
type server struct {
	command *exec.Cmd
	ready   time.Duration // from the process's start to that line
	stderr  bytes.Buffer
}

func startServer(program string, arguments ...string) (*server, error) {
	s := &server{command: exec.Command(program, arguments...)}
	s.command.Stderr = &s.stderr
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	ready := make(chan time.Duration, 1)
	go func() {
		defer close(ready)
		lines := bufio.NewScanner(stdout)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready in") {
				ready <- time.Since(began)
			}
		}
	}()
	select {
	case took, serves := <-ready:
		if serves {
			s.ready = took
			return s, nil
		}
	case <-time.After(60 * time.Second):
	}
	s.stop()
	return nil, fmt.Errorf("%s %s did not get ready: %s", program, strings.Join(arguments, " "), s.stderr.String())
}

func (s *server) stop() {
	s.command.Process.Signal(os.Interrupt)
	ended := make(chan struct{})
	go func() {
		s.command.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		s.command.Process.Kill()
		<-ended
	}
}

// residentMiB reads the process's resident memory where the operating system tells it under /proc; 0 elsewhere.
func (s *server) residentMiB() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, _ := strconv.ParseFloat(fields[1], 64)
			return kib / 1024
		}
	}
	return 0
}

var defaultPorts = []int{2181, 2182, 2183, 9092, 9093, 9094, 6650, 6651, 8080, 8081, 3181, 3182, 3183, 3184, 7700}

// freeOffset finds a port offset under which every default port is free.
func freeOffset() (int, error) {
	for range 100 {
		offset := 10000 + rand.IntN(120)*100 // below the range from which the system gives out ports
		free := true
		for _, port := range defaultPorts {
			listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port+offset))
			if err != nil {
				free = false
				break
			}
			listener.Close()
		}
		if free {
			return offset, nil
		}
	}
	return 0, fmt.Errorf("no port offset with all ports free was found")
}

// classroom is a `twinlog up` of its own.
type classroom struct {
	*server
	offset int
}

func (b *bench) startClassroom(arguments ...string) (*classroom, error) {
	offset, err := freeOffset()
	if err != nil {
		return nil, err
	}
	data, err := os.MkdirTemp(b.directory, "classroom")
	if err != nil {
		return nil, err
	}
	b.cleanups = append(b.cleanups, func() { os.RemoveAll(data) })
	s, err := startServer(b.program, append([]string{"up", "--port-offset", strconv.Itoa(offset), "--data", data}, arguments...)...)
	if err != nil {
		return nil, err
	}
	return &classroom{server: s, offset: offset}, nil
}

func (c *classroom) kafka() []string { return addresses(9092+c.offset, 3) }

func (c *classroom) pulsar() string {
	return "pulsar://" + strings.Join(addresses(6650+c.offset, 2), ",")
}

func addresses(first, count int) (list []string) {
	for i := range count {
		list = append(list, fmt.Sprintf("127.0.0.1:%d", first+i))
	}
	return list
}
