package disk

import "bytes"

// Copy returns another disk that holds what this one holds now, all of it durable. So a test can go several ways from one state.
func (m *Memory) Copy() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Memory{root: m.root.copy()}
}

func (d *directory) copy() *directory {
	made := newDirectory()
	for name, n := range d.now {
		switch n := n.(type) {
		case *directory:
			made.now[name] = n.copy()
		case *content:
			made.now[name] = &content{now: bytes.Clone(n.now), durable: bytes.Clone(n.now), modified: n.modified}
		}
		made.durable[name] = made.now[name]
	}
	return made
}
