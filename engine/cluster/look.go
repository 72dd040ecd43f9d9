package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"twinlog/engine/dissect"
	"twinlog/engine/dump"
	"twinlog/engine/ensemble/server"
	"twinlog/engine/sentence"
	"twinlog/engine/trace"
)

var (
	// ErrGone: it was there, and has been overwritten or deleted.
	ErrGone = errors.New("that is gone")
	// ErrNotThere: there is no such thing.
	ErrNotThere = errors.New("that is not there")
)

// What can be asked of a node.
const (
	LookMessage = "message" // the bytes of the message of record Seq: a Message
	LookFile    = "file"    // a page of File from At on: a dump.Content
	LookFrame   = "frame"   // the frame at At of File: a Frame
	LookThing   = "thing"   // what a node that runs knows now of the thing that Thing names: JSON of the node's own
)

// Question is what somebody wants to see of a node's inside.
type Question struct {
	What string `json:"what"`
	// Run is the run of the process whose record is meant; empty: the present one.
	Run  string `json:"run,omitempty"`
	Seq  uint64 `json:"seq,omitempty"`
	File string `json:"file,omitempty"` // as StoredFile names it
	At   int64  `json:"at,omitempty"`
	// Thing is a kind and a name: "znode /controller", "group readers", "topic persistent://public/default/orders".
	Thing string `json:"thing,omitempty"`
}

// Inspector looks into nodes, in this process or in others, and changes nothing in them.
type Inspector interface {
	// Look answers with JSON of at most 4 MiB; what would need more is refused, and pages of files are made to fit. Files and messages of a
	// node that is down can be seen too.
	Look(ctx context.Context, node string, question Question) (json.RawMessage, error)
}

var _ Inspector = (*Cluster)(nil)

// Message is a captured message, whole or its beginning, taken apart.
type Message struct {
	dissect.Message
	Seq      uint64 `json:"seq"`
	Response bool   `json:"response"`
	Size     int64  `json:"size"`  // of the whole message
	Bytes    []byte `json:"bytes"` // its beginning
}

// Frame is a frame of a log, taken apart.
type Frame = dump.Opened

// Looker is a node that can tell what it knows of a thing.
type Looker interface {
	LookAt(ctx context.Context, thing string) (any, error)
}

// Look implements [Inspector].
func (c *Cluster) Look(ctx context.Context, name string, question Question) (answer json.RawMessage, err error) {
	err = c.do(name, func(s *Slot) error { answer, err = s.Look(ctx, question); return err })
	return answer, err
}

// Look answers a question about the slot's node.
func (s *Slot) Look(ctx context.Context, question Question) (json.RawMessage, error) {
	var answer any
	var err error
	switch question.What {
	case LookMessage:
		answer, err = s.lookAtMessage(question)
	case LookFile, LookFrame:
		answer, err = s.lookAtFile(question)
	case LookThing:
		answer, err = s.lookAtThing(ctx, question.Thing)
	default:
		err = sentence.Error(ErrInvalid, "notAQuestion", `"{given}" is nothing that a node can be asked for`, question.What)
	}
	if err != nil {
		return nil, err
	}
	return encodeAnswer(question, answer)
}

// maxAnswer bounds an answer of Look, in bytes of JSON.
const maxAnswer = 4 << 20

func encodeAnswer(question Question, answer any) (json.RawMessage, error) {
	text, err := json.Marshal(answer)
	if err != nil {
		return nil, fmt.Errorf("put the answer about the %s into JSON: %w", question.What, err)
	}
	if len(text) > maxAnswer {
		return nil, sentence.Error(ErrRefused, "answerTooLarge",
			`what is known of "{thing}" has {bytes} {bytes|byte|bytes}; shown are at most {most}`, question.File+question.Thing, len(text), maxAnswer)
	}
	return text, nil
}

func (s *Slot) lookAtMessage(question Question) (Message, error) {
	if run := s.tracer.Run(); question.Run != "" && question.Run != run {
		return Message{}, sentence.Error(ErrGone, "messageOfOtherRun", "record {seq} of {node} is of run {run}; messages' bytes are kept of the present run ({present}) alone",
			strconv.FormatUint(question.Seq, 10), s.Name(), question.Run, run)
	}
	frame, found := s.tracer.Frame(question.Seq)
	if !found {
		return Message{}, sentence.Error(ErrGone, "messageGone", "{node} no longer has the bytes of the message of its record {seq}: "+
			"newer messages took their place, or the record is about no message", s.Name(), strconv.FormatUint(question.Seq, 10))
	}
	return messageOf(frame), nil
}

func messageOf(frame trace.CapturedFrame) Message {
	return Message{Message: dissect.Captured(frame), Seq: frame.Seq, Response: frame.Response, Size: frame.Size, Bytes: frame.Bytes}
}

// lookAtFile reads a file that Files lists, and no other.
func (s *Slot) lookAtFile(question Question) (any, error) {
	files, err := s.Files()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(files, func(f StoredFile) bool { return f.Name == question.File }) {
		return nil, sentence.Error(ErrNotThere, "noFileWithBytes", `{node} has no file "{file}" with anything in it`, s.Name(), question.File)
	}
	file, err := s.files.OpenFile(question.File, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, sentence.Error(ErrGone, "fileJustDeleted", "{node} has just deleted {file}", s.Name(), question.File)
	}
	if err != nil {
		return nil, sentence.Error(nil, "lookingInto", "look into {file} of {node}: {why}", question.File, s.Name(), err)
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, sentence.Error(nil, "lookingInto", "look into {file} of {node}: {why}", question.File, s.Name(), err)
	}
	var answer any
	if question.What == LookFrame {
		answer, err = dump.Open(file, question.File, size, question.At)
	} else {
		answer, err = dump.Read(file, question.File, size, question.At)
	}
	switch {
	case errors.Is(err, dump.ErrNoFrame):
		return nil, sentence.Error(ErrNotThere, "noFrameThere", "there is no frame at byte {at} of {file}: {why}", question.At, question.File, err)
	case err != nil:
		return nil, sentence.Error(ErrRefused, "notInWords", "{file} cannot be put in words: {why}", question.File, err)
	}
	return answer, nil
}

func (s *Slot) lookAtThing(ctx context.Context, thing string) (any, error) {
	s.mu.Lock()
	state := s.state
	var looker Looker
	if s.life != nil {
		looker, _ = s.life.node.(Looker)
	}
	s.mu.Unlock()
	if state != StateRunning {
		return nil, wrongState("ask", s.Name(), state)
	}
	if looker == nil {
		return nil, sentence.Error(ErrRefused, "tellsNothing", "{node} tells nothing of the things in it", s.Name())
	}
	told, err := looker.LookAt(ctx, thing)
	if err != nil {
		return nil, sentence.Error(ErrNotThere, "nodeSays", "{node}: {why}", s.Name(), err)
	}
	now := Told{At: time.Now(), Told: told}
	if znode, is := told.(server.ZnodeLook); is {
		data := dissect.Znode(znode.Path, znode.Data)
		now.Data = &data
	}
	return now, nil
}

// Told is what a node says of a thing.
type Told struct {
	At   time.Time `json:"at"`
	Told any       `json:"told"`
	// Data is a znode's data, taken apart.
	Data *dissect.Message `json:"data,omitempty"`
}
