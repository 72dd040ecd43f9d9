package disk

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// sectorBytes is what a medium writes as a whole: a torn write tears between sectors.
const sectorBytes = 512

// Memory is a Disk in memory that can crash. It keeps what is durable apart from what is only written, as strictly as the contract
// allows: a file's bytes are durable after its Sync, its name after SyncDir of its directory, and neither makes the other durable.
type Memory struct {
	mu      sync.Mutex
	root    *directory
	pending []*entryChange // not yet durable, oldest first
	crashes int            // open files of an earlier life are dead
}

// directory holds entries as they are and as they would be found after a crash.
type directory struct {
	now, durable map[string]node
}

type node interface{ isNode() }

func (*directory) isNode() {}
func (*content) isNode()   {}

// entryChange is one creation, removal or renaming; node is nil for a removal.
type entryChange struct {
	in   *directory
	name string
	node node
	// Set for a renaming: the entry that goes away in the same step.
	from     *directory
	fromName string
}

func (c *entryChange) touches(d *directory) bool { return c.in == d || c.from == d }

func (c *entryChange) apply(entries func(*directory) map[string]node) {
	if c.from != nil {
		delete(entries(c.from), c.fromName)
	}
	if c.node == nil {
		delete(entries(c.in), c.name)
		return
	}
	entries(c.in)[c.name] = c.node
}

func entriesNow(d *directory) map[string]node     { return d.now }
func entriesDurable(d *directory) map[string]node { return d.durable }

// NewMemory returns an empty disk.
func NewMemory() *Memory { return &Memory{root: newDirectory()} }

func newDirectory() *directory {
	return &directory{now: map[string]node{}, durable: map[string]node{}}
}

// Crash cuts the power: open files are dead, and of what was not synced some is lost, torn between sectors, or comes out in another
// order, as random decides. The same seed after the same calls gives the same disk.
func (m *Memory) Crash(random *rand.Rand) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashes++
	// Within a directory a file system keeps the order of its changes, so a beginning of them survives.
	lost := map[*directory]bool{}
	for _, change := range m.pending {
		if random.IntN(4) == 0 {
			lost[change.in] = true
		}
		if lost[change.in] || change.from != nil && lost[change.from] {
			lost[change.in] = true
			if change.from != nil {
				lost[change.from] = true
			}
			continue
		}
		change.apply(entriesDurable)
	}
	m.pending = nil
	m.root.crash(random)
}

func (d *directory) crash(random *rand.Rand) {
	d.now = map[string]node{}
	names := make([]string, 0, len(d.durable))
	for name := range d.durable {
		names = append(names, name)
	}
	slices.Sort(names) // the random numbers must not depend on a map's order
	for _, name := range names {
		d.now[name] = d.durable[name]
		switch n := d.durable[name].(type) {
		case *directory:
			n.crash(random)
		case *content:
			n.crash(random)
		}
	}
}

// change does a change now; it becomes durable with SyncDir.
func (m *Memory) change(c *entryChange) {
	c.apply(entriesNow)
	m.pending = append(m.pending, c)
}

// find walks to a name's directory. The name itself need not exist; it is "." for the root.
func (m *Memory) find(op, name string) (parent *directory, base string, err error) {
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") || path.IsAbs(clean) {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	parent = m.root
	steps := strings.Split(clean, "/")
	for _, step := range steps[:len(steps)-1] {
		next, ok := parent.now[step].(*directory)
		if !ok {
			return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
		parent = next
	}
	return parent, steps[len(steps)-1], nil
}

func (m *Memory) lookup(op, name string) (node, error) {
	parent, base, err := m.find(op, name)
	if err != nil {
		return nil, err
	}
	if base == "." {
		return m.root, nil
	}
	n := parent.now[base]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return n, nil
}

func (m *Memory) lookupDirectory(op, name string) (*directory, error) {
	n, err := m.lookup(op, name)
	if err != nil {
		return nil, err
	}
	d, ok := n.(*directory)
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: errors.New("not a directory")}
	}
	return d, nil
}

// OpenFile implements [Disk].
func (m *Memory) OpenFile(name string, flag int) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	parent, base, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	var c *content
	switch n := parent.now[base].(type) {
	case *directory:
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("is a directory")}
	case *content:
		if flag&os.O_CREATE != 0 && flag&os.O_EXCL != 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrExist}
		}
		c = n
	default:
		if base == "." || flag&os.O_CREATE == 0 {
			return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		c = &content{modified: time.Now()}
		m.change(&entryChange{in: parent, name: base, node: c})
	}
	if flag&os.O_TRUNC != 0 {
		c.truncate(0)
	}
	writable := flag&(os.O_RDWR|os.O_WRONLY) != 0
	return &memoryFile{disk: m, content: c, name: name, life: m.crashes, writable: writable}, nil
}

// MkdirAll implements [Disk].
func (m *Memory) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, _, err := m.find("mkdir", path.Dir(path.Clean(name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := m.root
	for step := range strings.SplitSeq(path.Clean(name), "/") {
		if step == "." {
			continue
		}
		switch n := at.now[step].(type) {
		case nil:
			created := newDirectory()
			m.change(&entryChange{in: at, name: step, node: created})
			at = created
		case *directory:
			at = n
		default:
			return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrExist}
		}
	}
	return nil
}

// Rename implements [Disk].
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup("rename", from)
	if err != nil {
		return err
	}
	fromParent, fromBase, _ := m.find("rename", from)
	toParent, toBase, err := m.find("rename", to)
	if err != nil {
		return err
	}
	if fromParent == toParent && fromBase == toBase {
		return nil
	}
	if _, isDirectory := toParent.now[toBase].(*directory); isDirectory || fromBase == "." || toBase == "." {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	m.change(&entryChange{in: toParent, name: toBase, node: n, from: fromParent, fromName: fromBase})
	return nil
}

// Remove implements [Disk].
func (m *Memory) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup("remove", name)
	if err != nil {
		return err
	}
	if d, ok := n.(*directory); ok && (len(d.now) > 0 || d == m.root) {
		return &fs.PathError{Op: "remove", Path: name, Err: errors.New("directory not empty")}
	}
	parent, base, _ := m.find("remove", name)
	m.change(&entryChange{in: parent, name: base})
	return nil
}

// RemoveAll implements [Disk].
func (m *Memory) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup("remove", name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	m.clear(n)
	if n != m.root {
		parent, base, _ := m.find("remove", name)
		m.change(&entryChange{in: parent, name: base})
	}
	return nil
}

func (m *Memory) clear(n node) {
	d, ok := n.(*directory)
	if !ok {
		return
	}
	for name, child := range d.now {
		m.clear(child)
		m.change(&entryChange{in: d, name: name})
	}
}

// ReadDir implements [Disk].
func (m *Memory) ReadDir(name string) ([]fs.DirEntry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.lookupDirectory("open", name)
	if err != nil {
		return nil, err
	}
	entries := make([]fs.DirEntry, 0, len(d.now))
	for name, n := range d.now {
		entries = append(entries, fs.FileInfoToDirEntry(infoOf(name, n)))
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// Stat implements [Disk].
func (m *Memory) Stat(name string) (fs.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.lookup("stat", name)
	if err != nil {
		return nil, err
	}
	return infoOf(path.Base(name), n), nil
}

// SyncDir implements [Disk].
func (m *Memory) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	d, err := m.lookupDirectory("sync", name)
	if err != nil {
		return err
	}
	kept := m.pending[:0]
	for _, change := range m.pending {
		if change.touches(d) {
			change.apply(entriesDurable)
		} else {
			kept = append(kept, change)
		}
	}
	clear(m.pending[len(kept):])
	m.pending = kept
	return nil
}

type memoryInfo struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
}

func infoOf(name string, n node) memoryInfo {
	if c, ok := n.(*content); ok {
		return memoryInfo{name: name, size: int64(len(c.now)), mode: 0o644, modified: c.modified}
	}
	return memoryInfo{name: name, mode: fs.ModeDir | 0o755}
}

func (i memoryInfo) Name() string       { return i.name }
func (i memoryInfo) Size() int64        { return i.size }
func (i memoryInfo) Mode() fs.FileMode  { return i.mode }
func (i memoryInfo) ModTime() time.Time { return i.modified }
func (i memoryInfo) IsDir() bool        { return i.mode.IsDir() }
func (i memoryInfo) Sys() any           { return nil }
