package main

import (
	"encoding/json"
	"errors"
	"fmt"
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
	disk      *disk.OS
	unlock    func() error
}

// classroomFile remembers what the nodes were called and where they were: ledgers and replicas are known by that.
const classroomFile = "classroom.json"

type classroomFacts struct {
	Host       string `json:"host"`
	PortOffset int    `json:"portOffset"`
	Ensemble   int    `json:"ensemble"`
}

// openData opens a classroom's directory, or makes a temporary one when none is named.
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
	var err error
	if d.disk, err = disk.NewOS(d.directory); err != nil {
		return nil, fmt.Errorf("--data %s: %w", d.directory, err)
	}
	if d.unlock, err = d.disk.Lock(); err != nil {
		return nil, fmt.Errorf("--data %s: %w; end the twinlog that runs there first", d.directory, err)
	}
	return d, nil
}

func (d *dataDirectory) checkFacts(layout cluster.Layout) error {
	facts := classroomFacts{Host: layout.Host, PortOffset: layout.PortOffset, Ensemble: layout.Ensemble}
	if len(layout.ZooKeeper) > 0 {
		facts.Ensemble = 0
	}
	name := filepath.Join(d.directory, classroomFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		text, err = json.Marshal(facts)
		if err != nil {
			return err
		}
		return os.WriteFile(name, text, 0o644)
	}
	if err != nil {
		return err
	}
	var kept classroomFacts
	if err := json.Unmarshal(text, &kept); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if kept != facts {
		return fmt.Errorf("the data in %s belongs to a classroom with --host %s --port-offset %d --ensemble %d: nodes are known by their addresses, so start it with the same",
			d.directory, kept.Host, kept.PortOffset, kept.Ensemble)
	}
	return nil
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
