package zookeeperclient

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// shell is one session. One goroutine, that of loop or once, prints: answers and events in the order in which they came.
type shell struct {
	conn *zk.Conn
	console
	events  <-chan zk.Event
	servers []string
	session int64 // the last one that was told of
	away    bool  // it was told that the connection is lost
	asked   int   // commands, for the prompt
}

// errQuit ends the loop.
var errQuit = errors.New("quit")

// loop does what each line says, until quit or the end of the input.
func (s *shell) loop(ctx context.Context) error {
	lines, failed := s.lines(ctx)
	if err := s.ask(); err != nil {
		return err
	}
	for {
		select {
		case line, more := <-lines:
			if !more {
				return <-failed
			}
			err := s.line(ctx, line)
			if errors.Is(err, errQuit) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := s.ask(); err != nil {
				return err
			}
		case event := <-s.events:
			if err := s.interrupt(event); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// lines reads the input; failed tells at its end what ended it. It does not outlive ctx by more than one line.
func (s *shell) lines(ctx context.Context) (<-chan string, <-chan error) {
	lines, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(s.in)
		scanner.Buffer(nil, longestLine)
		for scanner.Scan() {
			select {
			case lines <- scanner.Text():
			case <-ctx.Done():
				failed <- nil
				return
			}
		}
		if err := scanner.Err(); err != nil {
			failed <- fmt.Errorf("read a command of at most %d bytes: %w", longestLine, err)
			return
		}
		failed <- nil
	}()
	return lines, failed
}

// longestLine bounds a command; a server takes at most 1 MiB.
const longestLine = 1 << 20

// line does one command. What is wrong with it, or what the server refuses, is printed; an error is of the console or is errQuit.
func (s *shell) line(ctx context.Context, line string) error {
	words, err := split(line)
	if err != nil {
		return s.print(err.Error())
	}
	if len(words) == 0 {
		return nil
	}
	s.asked++
	do, err := parse(words)
	if err != nil {
		return s.print(err.Error())
	}
	output, err := s.answer(ctx, do)
	if printing := s.print(output...); printing != nil {
		return printing
	}
	switch {
	case errors.Is(err, errQuit):
		return err
	case err != nil:
		return s.print(err.Error())
	}
	return nil
}

// once does one command, and fails as it does.
func (s *shell) once(ctx context.Context, words []string) error {
	do, err := parse(words)
	if err != nil {
		return err
	}
	output, err := s.answer(ctx, do)
	if printing := s.print(output...); printing != nil {
		return printing
	}
	if errors.Is(err, errQuit) {
		return nil
	}
	return err
}

// answerExpected is when somebody who waits is told why.
const answerExpected = 3 * time.Second

// answer waits for what comes of a command, and tells events meanwhile.
func (s *shell) answer(ctx context.Context, do action) (output []string, err error) {
	type result struct {
		output []string
		err    error
	}
	results := make(chan result, 1)
	go func() {
		output, err := do(s.conn)
		results <- result{output, err}
	}()
	late := time.NewTimer(answerExpected)
	defer late.Stop()
	for {
		select {
		case r := <-results:
			return r.output, r.err
		case event := <-s.events:
			if err := s.print(s.sentences(event)...); err != nil {
				return nil, err
			}
		case <-late.C:
			if err := s.print(fmt.Sprintf("no answer yet from %s. Without a majority of its servers an ensemble answers nobody; Ctrl-C gives up", strings.Join(s.servers, ","))); err != nil {
				return nil, err
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// interrupt tells an event while somebody may be typing.
func (s *shell) interrupt(event zk.Event) error {
	lines := s.sentences(event)
	if len(lines) == 0 {
		return nil
	}
	if s.prompt {
		lines = append([]string{""}, lines...) // the prompt's line ends
	}
	if err := s.print(lines...); err != nil {
		return err
	}
	return s.ask()
}

// sentences is what the server, or the want of one, has to say.
func (s *shell) sentences(event zk.Event) []string {
	if event.Type != zk.EventSession {
		if event.Type == zk.EventNotWatching { // with its session; that is told by itself
			return nil
		}
		return []string{"", "WATCHER::", "", fmt.Sprintf("WatchedEvent state:SyncConnected type:%s path:%s", strings.TrimPrefix(event.Type.String(), "Event"), event.Path)}
	}
	switch event.State {
	case zk.StateHasSession:
		before, away := s.session, s.away
		s.session, s.away = s.conn.SessionID(), false
		switch {
		case before != 0 && before != s.session:
			return []string{fmt.Sprintf("session %#x has expired: its ephemeral znodes and its watches are gone. Connected to %s, session %#x", before, event.Server, s.session)}
		case away || s.prompt: // at the start it is noise for a program
			return []string{fmt.Sprintf("connected to %s, session %#x", event.Server, s.session)}
		}
	case zk.StateDisconnected:
		if s.session != 0 && !s.away {
			s.away = true // it comes again with each server that is tried
			return []string{fmt.Sprintf("disconnected from %s; looking for a server that lets this session go on", event.Server)}
		}
	}
	return nil
}

func (s *shell) print(lines ...string) error {
	for _, line := range lines {
		if _, err := fmt.Fprintln(s.out, line); err != nil {
			return err
		}
	}
	return nil
}

// ask prints the prompt.
func (s *shell) ask() error {
	if !s.prompt {
		return nil
	}
	_, err := fmt.Fprintf(s.out, "[zk: %s %d] ", strings.Join(s.servers, ","), s.asked)
	return err
}
