package visualizer

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"

	"twinlog/engine/sentence"
	"twinlog/visualizer/hub"
)

// The times of a stream.
const (
	// writeWait is how long a frame may take to get into the browser's socket. A browser that only is slow is resynchronised by the
	// hub; one that takes nothing for so long is gone.
	writeWait = 30 * time.Second
	pingEvery = 15 * time.Second
	// pongWait is how long nothing at all may be heard of a browser.
	pongWait = 40 * time.Second
	// A browser has nothing to say.
	maxClientMessage = 512
)

// bytesProtocol is the WebSocket subprotocol of a browser that wants the same frames as binary messages: it can let go of bytes as soon
// as they are read, whereas a browser keeps the text of a message until it collects its garbage, which at 3 MB a second is a lot.
const bytesProtocol = "twinlog.bytes"

var upgrader = websocket.Upgrader{
	HandshakeTimeout: 5 * time.Second, ReadBufferSize: 1 << 10, WriteBufferSize: 16 << 10,
	Subprotocols: []string{bytesProtocol},
	// guardOrigin has looked at the origin before.
	CheckOrigin: func(*http.Request) bool { return true },
	Error: func(w http.ResponseWriter, r *http.Request, status int, reason error) {
		http.Error(w, reason.Error(), status)
	},
}

func (s *Server) getStream(c *gin.Context) {
	if !websocket.IsWebSocketUpgrade(c.Request) {
		refuse(c, http.StatusUpgradeRequired, "notAWebSocket", sentence.Of("notAWebSocket", "this is a WebSocket; for single requests there are /api/v1/cluster and /api/v1/events"))
		return
	}
	s.streams.Add(1)
	defer s.streams.Done()
	subscription, err := s.hub.Subscribe(c.Request.Context())
	if err != nil {
		refuseError(c, err)
		return
	}
	defer subscription.Close()
	connection, err := upgrader.Upgrade(c.Writer, c.Request, nil)
	if err != nil {
		c.Abort() // the upgrader has answered
		return
	}
	defer connection.Close()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		listen(connection)
	}()
	s.send(connection, subscription, gone)
	connection.Close()
	<-gone
}

// listen reads until the browser is gone. What it says is nothing, but pongs and the close message arrive here.
func listen(connection *websocket.Conn) {
	connection.SetReadLimit(maxClientMessage)
	alive := func(string) error { return connection.SetReadDeadline(time.Now().Add(pongWait)) }
	connection.SetPongHandler(alive)
	for alive("") == nil {
		if _, _, err := connection.ReadMessage(); err != nil {
			return
		}
	}
}

// send hands on what the hub sends until the browser or the hub is gone.
func (s *Server) send(connection *websocket.Conn, subscription *hub.Subscription, gone <-chan struct{}) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	messageType := websocket.TextMessage
	if connection.Subprotocol() == bytesProtocol {
		messageType = websocket.BinaryMessage
	}
	for {
		select {
		case frame, open := <-subscription.Frames():
			deadline := time.Now().Add(writeWait)
			if !open {
				goingAway := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the classroom ends")
				_ = connection.WriteControl(websocket.CloseMessage, goingAway, deadline) // the browser may be gone first
				return
			}
			if connection.SetWriteDeadline(deadline) != nil || connection.WriteMessage(messageType, frame) != nil {
				return
			}
		case <-ping.C:
			if connection.WriteControl(websocket.PingMessage, nil, time.Now().Add(writeWait)) != nil {
				return
			}
		case <-gone:
			return
		}
	}
}
