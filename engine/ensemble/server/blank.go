package server

import (
	"net"
	"slices"
	"time"

	"twinlog/engine/ensemble/tree"
)

// blankServer is a server with nothing on its disk, as the leader knows it.
type blankServer struct {
	nonce int64 // of its disk
	heard time.Time
}

// blankServers are the nonces of the servers that say now that they have nothing on their disks.
func (o *owner) blankServers() map[int32]int64 {
	nonces := map[int32]int64{}
	for id, server := range o.blank {
		if time.Since(server.heard) < 5*joinInterval {
			nonces[id] = server.nonce
		}
	}
	return nonces
}

// reborn is a member that comes back, with nothing, under a fresh Raft id: its blank disk has a nonce.
func reborn(member tree.Member, id int32, nonce int64) tree.Member {
	member.RaftID, member.Nonce = raftID(id, member.RaftID>>8+1), nonce
	return member
}

// takesPart tells whether a server would do its part as this member at once: after an instant it has answered Raft under the member's Raft
// id, or has said that it waits, with nothing on its disk, for the change that gives it this one. To be connected is not enough. A server
// that has lost its disk is, but does not answer to the Raft id it had, and gets a new one only by another change, which the members that
// count on it could not decide. Nor is it enough to be heard: one that still says that it is blank after it was given the id cannot be
// reached.
func (o *owner) takesPart(id int32, member tree.Member, after time.Time) bool {
	if member.RaftID == o.storage.raftID {
		return true
	}
	if nonce, isBlank := o.blankServers()[id]; isBlank && nonce != o.tree.Membership().Servers[id].Nonce {
		return nonce == member.Nonce && o.blank[id].heard.After(after)
	}
	return slices.Contains(o.transport.connectedTo(), id) && o.lastHeard[member.RaftID].After(after)
}

// noteAddress notes where a server is that takes part but is unknown here. It became a member while this server was away, and may lead
// now: without an answer to what it sends, it could not bring this server up to date.
func (o *owner) noteAddress(h *hello) {
	if h.raftID == 0 || h.address == "" || h.server < 1 || h.server > 255 || h.server == int32(o.config.ID) || o.introduced[h.server] == h.address {
		return
	}
	o.introduced[h.server] = h.address
	if _, known := o.membersAddresses()[h.server]; !known {
		o.log.Info("a server that this one did not know takes part", "peer", o.config.name(h.server), "address", h.address)
		o.transport.connect(o.peerAddresses())
	}
}

// ownAddress is where the other servers find this one.
func (o *owner) ownAddress() string {
	if member, known := o.tree.Membership().Servers[int32(o.config.ID)]; known && member.PeerAddress != "" {
		return member.PeerAddress
	}
	if address := o.config.Peers[o.config.ID]; address != "" {
		return address
	}
	if host, _, err := net.SplitHostPort(o.config.PeerAddress); err != nil || host == "" || net.ParseIP(host).IsUnspecified() {
		return "" // of all addresses that it has: it does not know which one others see
	}
	return o.config.PeerAddress
}
