package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
)

// dataDirectory is where a classroom keeps everything: a directory a node, and the page's own.
type dataDirectory struct {
	directory string
	temporary bool
	disk      disk.Disk
	unlock    func() error
}

// offloadedDirectory, in there, is the medium of tiered storage, which all Pulsar-mode brokers share as they would share a bucket.
const offloadedDirectory = "offloaded"

// classroomFile remembers what the nodes were called and where they were: ledgers and replicas are known by that.
const classroomFile = "classroom.json"

type classroomFacts struct {
	Host       string `json:"host"`
	PortOffset int    `json:"portOffset"`
	Ensemble   int    `json:"ensemble"`
}

// openData opens a classroom's directory, or makes a temporary one when none is named. One that has no classroom yet gets this one with
// keepFacts.
func openData(name string, layout cluster.Layout) (*dataDirectory, error) {
	d, err := openDirectory(name)
	if err != nil {
		return nil, err
	}
	if err := d.checkFacts(layout); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// openDirectory opens a directory for this process alone, or makes a temporary one when none is named.
func openDirectory(name string) (*dataDirectory, error) {
	d := &dataDirectory{directory: name}
	if name == "" {
		made, err := os.MkdirTemp("", "twinlog-")
		if err != nil {
			return nil, err
		}
		d.directory, d.temporary = made, true
		onForced(func() { _ = os.RemoveAll(made) })
	}
	files, err := disk.NewOS(d.directory)
	if err != nil {
		return nil, fmt.Errorf("--data %s: %w", d.directory, err)
	}
	if d.unlock, err = files.Lock(); err != nil {
		return nil, fmt.Errorf("--data %s: %w; end the twinlog that runs there first", d.directory, err)
	}
	d.disk = files
	return d, nil
}

func factsOf(layout cluster.Layout) classroomFacts {
	facts := classroomFacts{Host: layout.Host, PortOffset: layout.PortOffset, Ensemble: layout.Ensemble}
	if len(layout.ZooKeeper) > 0 {
		facts.Ensemble = 0
	}
	return facts
}

// keepFacts writes down whose directory it is, if nobody has. A classroom whose ports are taken must not: nothing of it is there yet, and
// the next one will have other ports.
func (d *dataDirectory) keepFacts(layout cluster.Layout) error {
	if _, err := d.read(classroomFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := json.Marshal(factsOf(layout))
	if err != nil {
		return err
	}
	return d.keep(classroomFile, text)
}

// checkFacts refuses a directory that belongs to another classroom.
func (d *dataDirectory) checkFacts(layout cluster.Layout) error {
	facts := factsOf(layout)
	text, err := d.read(classroomFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var kept classroomFacts
	if err := json.Unmarshal(text, &kept); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(d.directory, classroomFile), err)
	}
	if kept != facts {
		return fmt.Errorf("the data in %s belongs to a classroom with --host %s --port-offset %d --ensemble %d: nodes are known by their addresses, so start it with the same",
			d.directory, kept.Host, kept.PortOffset, kept.Ensemble)
	}
	return nil
}

// membersFile remembers which nodes were added and removed.
const membersFile = "members.json"

type memberFacts struct {
	Added   map[string][]int `json:"added"` // numbers, by role
	Removed map[string][]int `json:"removed"`
}

// recallMembers adds to a layout what was remembered.
func (d *dataDirectory) recallMembers(layout *cluster.Layout) error {
	text, err := d.read(membersFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var facts memberFacts
	if err := json.Unmarshal(text, &facts); err != nil {
		return fmt.Errorf("%s: which nodes were added and removed cannot be read: %w", filepath.Join(d.directory, membersFile), err)
	}
	layout.Added, layout.Removed = facts.Added, facts.Removed
	return nil
}

// rememberMembers keeps what was added and removed.
func (d *dataDirectory) rememberMembers(layout cluster.Layout) error {
	text, err := json.Marshal(memberFacts{Added: layout.Added, Removed: layout.Removed})
	if err != nil {
		return err
	}
	return d.keep(membersFile, text)
}

// maxFacts bounds a file of facts.
const maxFacts = 1 << 20

func (d *dataDirectory) read(name string) ([]byte, error) {
	file, err := d.disk.OpenFile(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.NewSectionReader(file, 0, maxFacts))
}

// keep writes a file whole or not at all; when it returns, the file is there also after a crash of the machine.
func (d *dataDirectory) keep(name string, text []byte) error {
	fresh := name + ".new"
	if err := d.writeSynced(fresh, text); err != nil {
		return err
	}
	if err := d.disk.Rename(fresh, name); err != nil {
		return err
	}
	return d.disk.SyncDir(".")
}

// writeSynced writes a file whose contents are durable when it returns; its name is not.
func (d *dataDirectory) writeSynced(name string, text []byte) error {
	file, err := d.disk.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(text, 0)
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// close gives the directory back; a temporary one is removed.
func (d *dataDirectory) close() error {
	err := d.unlock()
	if d.temporary {
		err = errors.Join(err, os.RemoveAll(d.directory))
	}
	return err
}

// newRunName names this run of the process: runs sort by name as they did in time.
func newRunName() string {
	return time.Now().UTC().Format("20060102T150405.000") + "-" + strconv.Itoa(os.Getpid())
}

var forced struct {
	mu sync.Mutex
	do []func()
}

// onForced notes what is to be done when the process leaves at once.
func onForced(do func()) {
	forced.mu.Lock()
	defer forced.mu.Unlock()
	forced.do = append(forced.do, do)
}

func runForced() {
	forced.mu.Lock()
	defer forced.mu.Unlock()
	for _, do := range forced.do {
		do()
	}
}
