package bookie

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"twinlog/engine/disk"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/bookkeeper/wire"
	"twinlog/engine/trace"
)

// TestAFlippedBitInARunningBookieIsNeverServed turns over a bit of every third byte of every entry log and index of a bookie that runs. Who
// reads gets the entry that was written, or EIO: never another one, never that there is none, which a recovery would believe. The trace
// names the file.
func TestAFlippedBitInARunningBookieIsNeverServed(t *testing.T) {
	d, zookeeper := disk.NewMemory(), memorystore.NewServer()
	tracer := trace.NewTracer("test", "bookie-1", 1<<16)
	r := start(t, d, zookeeper, func(c *Config) { c.EntryLogBytes, c.Tracer = 1000, tracer })
	c := r.dial(wire.Version2)
	const ledgers, entries = 3, 8
	for entry := range int64(entries) {
		for ledger := range int64(ledgers) {
			want(t, "add", c.add(ledger, entry, false, testKey), wire.OK)
		}
	}
	r.stop() // what it has in memory, it would not read from the disk
	r = start(t, d, zookeeper, func(c *Config) { c.EntryLogBytes, c.Tracer = 1000, tracer })
	defer r.stop()
	c = r.dial(wire.Version2)
	refused := map[string]int{}
	for _, file := range entryLogFiles(t, d) {
		info, err := d.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		for at := int64(0); at < info.Size(); at += 3 {
			flip := func() {
				if err := disk.NewFaults(d).FlipBit(file, at, uint(at)); err != nil {
					t.Fatal(err)
				}
			}
			flip()
			for ledger := range int64(ledgers) {
				for entry := range int64(entries) {
					got := c.read(ledger, entry, false)
					switch wanted := string(body(ledger, entry, entry-1, fmt.Sprintf("payload of %d:%d", ledger, entry))); {
					case got.Status == wire.IOError && len(got.Body) == 0:
						refused[path.Ext(file)]++
					case got.Status != wire.OK || string(got.Body) != wanted:
						t.Fatalf("byte %d of %s is damaged: entry %d:%d is %v, %q", at, file, ledger, entry, got.Status, got.Body)
					}
				}
			}
			flip()
		}
	}
	t.Logf("refused: %v", refused)
	if refused[".index"] == 0 || refused[".log"] == 0 {
		t.Errorf("refused: %v", refused)
	}
	named := map[string]bool{}
	for _, record := range tracer.Drain(nil) {
		if found, is := record.Data.(trace.DamageFound); is {
			named[path.Ext(found.File)] = true
		}
	}
	if !named[".index"] || !named[".log"] {
		t.Errorf("the trace names %v", named)
	}
}

// TestADamagedFenceIsOneLedgersAlone: a bookie that cannot tell whether a ledger is fenced refuses that ledger's adds and fences, and takes
// the others'.
func TestADamagedFenceIsOneLedgersAlone(t *testing.T) {
	d, zookeeper := disk.NewMemory(), memorystore.NewServer()
	tracer := trace.NewTracer("test", "bookie-1", 1<<10)
	r := start(t, d, zookeeper, func(c *Config) { c.EntryLogBytes = 1000 })
	c := r.dial(wire.Version2)
	for entry := range int64(20) {
		want(t, "add", c.add(1, entry, false, testKey), wire.OK)
	}
	r.stop() // what it knows of the ledger, it would not read from the disk
	r = start(t, d, zookeeper, func(c *Config) { c.EntryLogBytes, c.Tracer = 1000, tracer })
	defer r.stop()
	c = r.dial(wire.Version2)
	files := entryLogFiles(t, d)
	for i, file := range files[:2] { // of the first log, which begins with the ledger's key, and of its index
		flip := func() {
			if err := disk.NewFaults(d).FlipBit(file, recordHeaderSize, 1); err != nil {
				t.Fatal(err)
			}
		}
		flip()
		want(t, "add with "+file+" damaged", c.add(1, 20, false, testKey), wire.IOError)
		want(t, "fence with "+file+" damaged", c.read(1, wire.LastEntry, true).Status, wire.IOError)
		want(t, "another ledger's add", c.add(2, int64(i), false, testKey), wire.OK)
		flip()
	}
	want(t, "add when it is healed", c.add(1, 20, false, testKey), wire.OK)
	told := map[string]bool{}
	for _, record := range tracer.Drain(nil) {
		if found, is := record.Data.(trace.DamageFound); is {
			told[found.File] = true
		}
	}
	if len(told) != 2 || !told[files[0]] || !told[files[1]] {
		t.Errorf("told is of %v, damaged were %v", told, files[:2])
	}
}

// entryLogFiles are the segments and the indexes of entries.
func entryLogFiles(t *testing.T, d disk.Disk) (files []string) {
	t.Helper()
	bases, err := listEntryLogs(d)
	if err != nil || len(bases) < 2 {
		t.Fatal(bases, err)
	}
	for _, base := range bases {
		children, err := d.ReadDir(entryLogDir(base))
		if err != nil {
			t.Fatal(err)
		}
		for _, child := range children {
			name := path.Join(entryLogDir(base), child.Name())
			if child.Name() == indexFile || strings.HasSuffix(name, ".log") {
				files = append(files, name)
			}
		}
	}
	return files
}
