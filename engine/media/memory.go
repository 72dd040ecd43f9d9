package media

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Memory is a Medium in memory, for tests and for looking at what would be where.
type Memory struct {
	mu    sync.RWMutex
	files map[string][]byte
}

// NewMemory returns an empty one.
func NewMemory() *Memory { return &Memory{files: map[string][]byte{}} }

func (m *Memory) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	err := checkName(name)
	var buffer bytes.Buffer
	if err == nil {
		_, err = io.Copy(&buffer, &exactly{content, size})
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = buffer.Bytes()
	return nil
}

func (m *Memory) find(ctx context.Context, name string) ([]byte, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	content, found := m.files[name]
	if !found {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return content, ctx.Err()
}

func (m *Memory) ReadAt(ctx context.Context, name string, p []byte, offset int64) (int, error) {
	content, err := m.find(ctx, name)
	if err != nil {
		return 0, err
	}
	return bytes.NewReader(content).ReadAt(p, offset)
}

func (m *Memory) Size(ctx context.Context, name string) (int64, error) {
	content, err := m.find(ctx, name)
	return int64(len(content)), err
}

func (m *Memory) List(ctx context.Context, prefix string) (names []string, err error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for name := range m.files {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, ctx.Err()
}

func (m *Memory) Remove(ctx context.Context, name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.files, name)
	return ctx.Err()
}

// RemoveUnfinished has nothing to do: a Put that is interrupted leaves nothing.
func (m *Memory) RemoveUnfinished(ctx context.Context, _ string) error { return ctx.Err() }
