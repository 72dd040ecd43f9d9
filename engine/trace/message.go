package trace

import (
	"net"
	"strconv"
)

// Message says what is on its way between two nodes. A student's own program is the node "client".
type Message struct {
	Exchange Exchange `json:"exchange"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Protocol string   `json:"protocol"` // kafka, pulsar, bookkeeper, zookeeper, raft
	Name     string   `json:"name"`     // the protocol's own name: Fetch, SEND, ADD_ENTRY, create, AppendEntries
	Bytes    int64    `json:"bytes"`
	Subject  string   `json:"subject,omitempty"` // what it is about: "orders-0", "ledger 12", "/controller"
	Offset   int64    `json:"offset"`            // first offset, entry or index concerned; -1 when there is none
	Count    int      `json:"count"`             // records, entries or messages carried
	Folded   Folded   `json:"folded,omitempty"`
}

// Exchange names a message so that both ends give it the same name without talking about it.
type Exchange struct {
	Connection  string `json:"connection"`
	Correlation int64  `json:"correlation"`
	Response    bool   `json:"response"`
}

// Connection names the connection that dialer opened to acceptor. Both ends know both addresses.
func Connection(dialer, acceptor net.Addr) string { return dialer.String() + ">" + acceptor.String() }

// MessageSent: the sender handed the message to its socket.
type MessageSent struct{ Message }

// MessageReceived: the receiver read the whole message. Its cause is the MessageSent of the same Exchange.
type MessageReceived struct{ Message }

func (MessageSent) Kind() string     { return "message.sent" }
func (MessageReceived) Kind() string { return "message.received" }

func (m Message) FlowKey() string {
	return m.From + ">" + m.To + "/" + m.Protocol + "/" + m.Name + "/" + m.Subject + "/" + strconv.FormatBool(m.Exchange.Response)
}

func (m Message) merge(later Message) Message {
	later.Bytes += m.Bytes
	later.Count += m.Count
	later.Folded = m.Folded.plus(later.Folded)
	later.Offset = m.Offset
	return later
}

func (m MessageSent) Merge(later Event) Event {
	return MessageSent{m.merge(later.(MessageSent).Message)}
}

func (m MessageReceived) Merge(later Event) Event {
	return MessageReceived{m.merge(later.(MessageReceived).Message)}
}
