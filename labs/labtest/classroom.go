// Package labtest holds labs to what they promise, by running them on a classroom.
package labtest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
	"twinlog/engine/world"
	"twinlog/labs"
	"twinlog/labs/action"
	"twinlog/labs/observe"
)

// classroom is a running `twinlog up`, through its API.
type classroom struct {
	api labs.API

	mu      sync.Mutex
	events  []observe.Event // known ones, without those that checks are not shown
	last    uint64          // the last record that was asked for
	problem error           // the first one of what cannot return an error
}

var (
	_ action.Nodes = (*classroom)(nil)
	_ action.Trace = (*classroom)(nil)
)

func (c *classroom) ask(ctx context.Context, method, path string, body, into any) error {
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	answer, err := c.api.Send(ctx, method, path, content)
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

func (c *classroom) note(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.problem == nil && err != nil {
		c.problem = err
	}
}

// Nodes lists the nodes.
func (c *classroom) Nodes() []cluster.NodeStatus {
	var answer struct{ Nodes []cluster.NodeStatus }
	c.note(c.ask(context.Background(), http.MethodGet, "nodes", nil, &answer))
	return answer.Nodes
}

func (c *classroom) act(ctx context.Context, name, verb string) error {
	return c.ask(ctx, http.MethodPost, "nodes/"+name+"/"+verb, nil, nil)
}

func (c *classroom) Kill(ctx context.Context, name string) error   { return c.act(ctx, name, "kill") }
func (c *classroom) Stop(ctx context.Context, name string) error   { return c.act(ctx, name, "stop") }
func (c *classroom) Start(ctx context.Context, name string) error  { return c.act(ctx, name, "start") }
func (c *classroom) Pause(ctx context.Context, name string) error  { return c.act(ctx, name, "pause") }
func (c *classroom) Resume(ctx context.Context, name string) error { return c.act(ctx, name, "resume") }

type link struct {
	From    string `json:"from"`
	To      string `json:"to"`
	Cut     bool   `json:"cut"`
	DelayMS int64  `json:"delayMS"`
}

// Links lists the links that are not healthy.
func (c *classroom) Links() (rules []cluster.LinkRule) {
	var answer struct{ Links []link }
	c.note(c.ask(context.Background(), http.MethodGet, "links", nil, &answer))
	for _, each := range answer.Links {
		rules = append(rules, cluster.LinkRule{From: each.From, To: each.To})
	}
	return rules
}

// SetLink sets the rule of one direction.
func (c *classroom) SetLink(from, to string, rule fabric.Link) error {
	return c.ask(context.Background(), http.MethodPut, "links", link{from, to, rule.Cut, rule.Delay.Milliseconds()}, nil)
}

// World asks for a lab's text first: the server looks for addresses in it with all that was recorded so far, and so the state that it
// gives next is at least as new.
func (c *classroom) World() (*world.State, uint64) {
	var answer struct {
		N     uint64
		State *world.State
	}
	err := errors.Join(c.ask(context.Background(), http.MethodGet, "labs/01-first-messages", nil, nil),
		c.ask(context.Background(), http.MethodGet, "cluster", nil, &answer))
	if err != nil || answer.State == nil {
		c.note(err)
		return world.New(), 0
	}
	return answer.State, answer.N
}

// EventsAfter fetches what has been recorded since the last call, and returns what is after n.
func (c *classroom) EventsAfter(n uint64) []observe.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == 0 {
		c.last = n
	}
	for {
		var answer struct{ Records []observe.Event }
		err := c.ask(context.Background(), http.MethodGet, fmt.Sprintf("events?limit=10000&after=%d", c.last), nil, &answer)
		if err != nil && c.problem == nil {
			c.problem = err
		}
		if len(answer.Records) == 0 {
			break
		}
		c.last = answer.Records[len(answer.Records)-1].N
		for _, event := range answer.Records {
			if !slices.ContainsFunc(observe.Unchecked, func(kind string) bool { return strings.HasPrefix(event.Kind, kind) }) {
				c.events = append(c.events, event)
			}
		}
	}
	at, _ := slices.BinarySearchFunc(c.events, n+1, func(event observe.Event, n uint64) int { return int(int64(event.N) - int64(n)) })
	return slices.Clone(c.events[at:])
}

// forget drops the events before now: a new run begins.
func (c *classroom) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = nil
}

// addresses are those that the nodes tell.
func (c *classroom) addresses() (found action.Addresses) {
	var pulsar []string
	for _, status := range c.Nodes() {
		switch status.Role {
		case node.RoleKafka:
			found.Kafka = append(found.Kafka, status.Addresses[node.PurposeKafka])
		case node.RolePulsar:
			pulsar = append(pulsar, status.Addresses[node.PurposePulsar])
			found.PulsarAdmin = append(found.PulsarAdmin, "http://"+status.Addresses[node.PurposeHTTP])
		}
	}
	found.PulsarURL = "pulsar://" + strings.Join(pulsar, ",")
	return found
}

var ports = []int{2181, 2182, 2183, 9092, 9093, 9094, 6650, 6651, 8080, 8081, 3181, 3182, 3183, 3184, 7700}

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

const startPatience = 3 * time.Minute

// open starts a classroom of one's own. end stops it and removes its files.
func open(ctx context.Context) (c *classroom, end func(), err error) {
	program, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	for range 100 {
		offset := 10_000 + rand.IntN(115)*100 // below the range from which the system gives out ports
		if !allFree(offset) {
			continue
		}
		c, end, err = openAt(ctx, program, offset)
		if err == nil || ctx.Err() != nil || allFree(offset) {
			return c, end, err
		}
		// Somebody else took one of the ports in the meantime.
	}
	return nil, nil, errors.New("no port offset with all ports free was found")
}

func openAt(ctx context.Context, program string, offset int) (c *classroom, end func(), err error) {
	data, err := os.MkdirTemp("", "twinlog-lab-test")
	if err != nil {
		return nil, nil, err
	}
	command := exec.Command(program, "up", "--port-offset", fmt.Sprint(offset), "--data", data)
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(data))
	}
	ready, exited := make(chan struct{}), make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(output)
		for lines.Scan() {
			if strings.HasPrefix(lines.Text(), "ready in") {
				close(ready)
			}
		}
		exited <- command.Wait()
	}()
	end = func() {
		command.Process.Signal(os.Interrupt)
		select {
		case <-exited:
		case <-time.After(20 * time.Second):
			command.Process.Kill()
			<-exited
		}
		os.RemoveAll(data)
	}
	select {
	case <-ready:
		return &classroom{api: labs.API{Base: fmt.Sprintf("http://127.0.0.1:%d", 7700+offset), Client: http.DefaultClient}}, end, nil
	case err := <-exited:
		os.RemoveAll(data)
		return nil, nil, fmt.Errorf("the classroom at port offset %d ended before it was ready: %w", offset, err)
	case <-time.After(startPatience):
	case <-ctx.Done():
	}
	end()
	return nil, nil, fmt.Errorf("the classroom at port offset %d is not ready", offset)
}
