package interop

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const zkCliProgram = "/usr/share/zookeeper/bin/zkCli.sh"

// zkCli is one session of Apache's command line client. Its commands' output and its watch events come over one stream, from two
// threads, so they are told apart.
type zkCli struct {
	t       *testing.T
	command *exec.Cmd
	stdin   io.WriteCloser

	mu   sync.Mutex
	text string
}

func startZkCli(t *testing.T, servers []string) *zkCli {
	t.Helper()
	if _, err := os.Stat(zkCliProgram); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("Debian's zookeeper package is not installed")
		}
		t.Skip("Debian's zookeeper package is not installed")
	}
	z := &zkCli{t: t, command: exec.Command(zkCliProgram, "-server", strings.Join(servers, ","))}
	var err error
	if z.stdin, err = z.command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	z.command.Stdout, z.command.Stderr = z, z // one pipe: what it prints stays in order
	if err := z.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		z.stdin.Close() // it ends with its input
		z.command.Process.Kill()
		z.command.Wait()
	})
	return z
}

func (z *zkCli) Write(p []byte) (int, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.text += string(p)
	return len(p), nil
}

// lines are the whole lines that it has printed.
func (z *zkCli) lines() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return strings.Split(z.text, "\n")
}

const eventPrefix = "WatchedEvent "

func (z *zkCli) events() (events []string) {
	for _, line := range z.lines() {
		if event, found := strings.CutPrefix(line, eventPrefix); found {
			events = append(events, event)
		}
	}
	return events
}

func (z *zkCli) awaitEvents(count int) {
	z.t.Helper()
	eventually(z.t, func() error {
		if events := z.events(); len(events) < count {
			lines := z.lines()
			return fmt.Errorf("%d events, waiting for %d; the last lines:\n%s", len(events), count, strings.Join(lines[max(0, len(lines)-60):], "\n"))
		}
		return nil
	})
}

// run gives a command and returns what it printed. The end is where the answer to a second command begins, which the client refuses
// without asking a server.
func (z *zkCli) run(command string) (output []string) {
	z.t.Helper()
	const helpBegins, helpEnds = "ZooKeeper -server host:port", "Command not found: Command not found no-such-command"
	printed := len(z.lines()) - 1
	fmt.Fprintf(z.stdin, "%s\nno-such-command\n", command)
	eventually(z.t, func() error {
		if lines := z.lines(); !slices.Contains(lines[printed:], helpEnds) {
			return fmt.Errorf("after %q zkCli has printed\n%s", command, strings.Join(lines[printed:], "\n"))
		}
		return nil
	})
	for _, line := range z.lines()[printed:] {
		switch {
		case strings.HasPrefix(line, helpBegins):
			return output
		case line == "" || line == "WATCHER::" || strings.HasPrefix(line, eventPrefix):
		default:
			output = append(output, line)
		}
	}
	return output
}

// cliStep is a command, and how many watch events it leads to.
type cliStep struct {
	command string
	events  int
}

// In ZooKeeper 3.8 a one-shot watch and a persistent one of the same session and path take each other's place (ZOOKEEPER-4466, mended in
// 3.9). Ours keeps both, so the paths of the two kinds are kept apart.
//
// The first part of the session happens on the server that it was opened on, the second on another one.
var (
	cliStepsBefore = []cliStep{
		{"create /cli root", 0},
		{"create -s -e /cli/e- ephemeral", 0},
		{"create -s -e /cli/e- ephemeral", 0},
		{"create -s /cli/ sequential", 0},
		{"get -s -w /cli/e-0000000000", 0},
		{"get /cli/none", 0},
		{"stat -w /cli/none", 0},
		{"create /cli/tree 1", 0},
		{"ls -s -w /cli/tree", 0},
		{"addWatch -m PERSISTENT_RECURSIVE /cli", 0},
		{"addWatch -m PERSISTENT /cli/e-0000000001", 0},
		{"set -s /cli/e-0000000000 changed", 1}, // one event for both watches
		{"set -v 7 /cli wrong-version", 0},
		{"create /cli/e-0000000000/child refused", 0},
		{"create /cli/tree/a 2", 2}, // of the recursive watch and of that of ls
		{"create /cli/tree/b 3", 1},
		{"create /cli/tree/b/c 4", 1},
		{"delete /cli/tree", 0},
		{"setAcl -s /cli/tree world:anyone:cdrwa,ip:127.0.0.1:r", 0},
		{"addauth digest user:password", 0},
		{"setAcl -v 1 /cli/tree/a auth::cdrwa", 0},
		{"setAcl -v 0 /cli/tree/a auth::cdrwa", 0},
		{"getAcl -s /cli/tree/a", 0},
		{"whoami", 0},
		{"get -s -w /cli/tree/b", 0},
	}
	cliStepsAfter = []cliStep{
		{"get -s /cli/e-0000000000", 0},
		{"getAcl /cli/tree/a", 0},
		{"get /cli/tree/a", 0}, // the new connection has authenticated too
		{"whoami", 0},
		{"getEphemerals /cli", 0},
		{"set /cli/tree/b again", 1},
		{"set /cli/e-0000000001 again", 1},
		{"create -s -e /cli/e- ephemeral", 1},
		{"create -c /cli/container", 1},
		{"getAllChildrenNumber /cli", 0},
		{"sync /cli", 0},
		{"ls -R /cli", 0},
		{"deleteall -b 2 /cli/tree", 4}, // in multis of two
		{"removewatches /cli", 1},
		{"create /cli/unseen x", 0},
		{"deleteall /cli", 1}, // only the persistent watch on one znode is left
	}
)

// transcript is what a student would have seen.
func (z *zkCli) transcript(kill func(session string)) (seen []string) {
	z.t.Helper()
	events := 1 // that it is connected
	z.awaitEvents(events)
	play := func(steps []cliStep) {
		for _, step := range steps {
			seen = append(seen, "> "+step.command)
			output := z.run(step.command)
			if step.command == "whoami" {
				slices.Sort(output) // ZooKeeper keeps identities in a set, which has no order
			}
			seen = append(seen, output...)
			events += step.events
			z.awaitEvents(events)
		}
	}
	play(cliStepsBefore)
	var session string
	for _, line := range z.run("stat /cli/e-0000000000") {
		if owner, found := strings.CutPrefix(line, "ephemeralOwner = "); found {
			session = owner
		}
	}
	kill(session)
	events += 2 // disconnected, connected
	z.awaitEvents(events)
	play(cliStepsAfter)
	z.run("ls /") // events that nobody awaits would be there by now
	seen = append(seen, "> the events, in order")
	return normalized(append(seen, z.events()...))
}

var (
	hexadecimal = regexp.MustCompile(`0x[0-9a-f]+`)
	timeOfDay   = regexp.MustCompile(`^([cm]time) = .*`)
)

// normalized replaces what differs between two runs: times, and transactions and sessions by the order in which they first appear.
func normalized(lines []string) (same []string) {
	numbers := map[string]string{"0x0": "0x0"}
	for _, line := range lines {
		line = timeOfDay.ReplaceAllString(line, "$1 = …")
		same = append(same, hexadecimal.ReplaceAllStringFunc(line, func(number string) string {
			if numbers[number] == "" {
				numbers[number] = fmt.Sprintf("#%d", len(numbers))
			}
			return numbers[number]
		}))
	}
	return same
}

// serverOfSession asks every server by the word cons whether it has the session's connection.
func serverOfSession(t *testing.T, servers []string, session string) (at int) {
	t.Helper()
	eventually(t, func() error {
		for i, server := range servers {
			if answer, err := fourLetterWord(server, "cons"); err == nil && strings.Contains(answer, "sid="+session+",") {
				at = i
				return nil
			}
		}
		return fmt.Errorf("no server of %v has the session %s", servers, session)
	})
	return at
}

func fourLetterWord(server, word string) (string, error) {
	conn, err := net.DialTimeout("tcp", server, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer, err := io.ReadAll(conn)
	return string(answer), err
}

// TestZkCliMovesBetweenServers: a session of zkCli with watches, ACLs, ephemerals and multis, whose server is killed under it, prints the
// same on ours as on Apache's ZooKeeper: every line, every event, in order.
func TestZkCliMovesBetweenServers(t *testing.T) {
	peers, kill := realZooKeepers(t, 3)
	theirs := startZkCli(t, peers).transcript(func(session string) { kill(serverOfSession(t, peers, session)) })

	c := up(t, "--pace", "production") // a leader that stays, also on a busy machine: an election would end connections
	servers := c.zookeeper()
	ours := startZkCli(t, servers).transcript(func(session string) {
		c.act(fmt.Sprintf("ensemble-%d", serverOfSession(t, servers, session)+1), "kill")
	})
	if a, b := strings.Join(ours, "\n"), strings.Join(theirs, "\n"); a != b {
		at := 0
		for at < min(len(ours), len(theirs)) && ours[at] == theirs[at] {
			at++
		}
		t.Fatalf("they differ from line %d on; ours:\n%s\n\nZooKeeper:\n%s", at+1, a, b)
	}
	if moved := "state:SyncConnected type:None path:null"; strings.Count(strings.Join(ours, "\n"), moved) != 2 {
		t.Errorf("it was to connect twice:\n%s", strings.Join(ours, "\n"))
	}
	t.Logf("%d commands and %d lines, all the same", len(cliStepsBefore)+len(cliStepsAfter), len(ours))
}
