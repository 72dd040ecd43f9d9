package fabric

import "net"

// maxUnseenDialled bounds the closed connections that their acceptor has not looked up yet.
const maxUnseenDialled = 1024

// dialledConnections tells an acceptor which node of this fabric opened a connection. The dialler enters a connection before it
// writes the first byte and the acceptor looks after it read one, so that there is no race. A connection may be dialled, written and
// closed before the acceptor looks: its entry stays until both were here. Guarded by Fabric.mu.
type dialledConnections struct {
	byAddresses map[string]*dialledConnection
	unseen      []string // closed by the dialler, not yet seen by the acceptor; oldest first
}

type dialledConnection struct {
	node         string
	seen, closed bool
}

// dialledKey is made of both addresses, because ports are used again.
func dialledKey(dialler, acceptor net.Addr) string { return dialler.String() + ">" + acceptor.String() }

func (f *Fabric) addDialled(key, node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dialled.byAddresses[key] = &dialledConnection{node: node}
}

func (f *Fabric) closeDialled(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry := f.dialled.byAddresses[key]
	if entry == nil {
		return
	}
	if entry.seen {
		delete(f.dialled.byAddresses, key)
		return
	}
	entry.closed = true
	f.dialled.unseen = append(f.dialled.unseen, key)
	if len(f.dialled.unseen) > maxUnseenDialled {
		oldest := f.dialled.unseen[0]
		f.dialled.unseen = f.dialled.unseen[1:]
		if entry := f.dialled.byAddresses[oldest]; entry != nil && entry.closed {
			delete(f.dialled.byAddresses, oldest)
		}
	}
}

// seeDialled returns the node that dialled, or "" when it is none of this fabric.
func (f *Fabric) seeDialled(key string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	entry := f.dialled.byAddresses[key]
	if entry == nil {
		return ""
	}
	entry.seen = true
	if entry.closed {
		delete(f.dialled.byAddresses, key)
	}
	return entry.node
}
