package visualizer

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"twinlog/engine/fabric"
	"twinlog/engine/trace"
	"twinlog/visualizer/wire"
)

// inBubble runs a server over an in-memory network, so that minutes of pings take no time.
func inBubble(t *testing.T, room *classroom) (network *fabric.Fabric, stop func()) {
	t.Helper()
	network = fabric.NewMemory()
	listener, err := network.Of("visualizer").Listen("127.0.0.1:7700")
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Config{Control: room, Web: testPage, Listener: listener})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()
	return network, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func openStream(t *testing.T, network *fabric.Fabric, subprotocols ...string) *websocket.Conn {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: subprotocols, NetDialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return network.Of("client").Dial(ctx, address)
	}}
	connection, _, err := dialer.DialContext(t.Context(), "ws://127.0.0.1:7700/api/v1/stream", http.Header{"Origin": {"http://127.0.0.1:7700"}})
	if err != nil {
		t.Fatal(err)
	}
	return connection
}

func TestStreamStaysOpenWhenNothingHappensAndSaysWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newClassroom()
		network, stop := inBubble(t, room)
		connection := openStream(t, network)
		frames := make(chan []byte, 100)
		failed := make(chan error, 1)
		pings := 0
		connection.SetPingHandler(func(data string) error {
			pings++
			return connection.WriteControl(websocket.PongMessage, []byte(data), time.Now().Add(time.Second))
		})
		go func() {
			for {
				_, frame, err := connection.ReadMessage()
				if err != nil {
					failed <- err
					return
				}
				frames <- frame
			}
		}()
		var snapshot wire.Snapshot
		if err := json.Unmarshal(<-frames, &snapshot); err != nil || snapshot.Type != wire.TypeSnapshot {
			t.Fatalf("%v %+v", err, snapshot)
		}
		time.Sleep(10 * time.Minute)
		room.serve()
		time.Sleep(time.Second)
		n := snapshot.N
		for len(frames) > 0 {
			var records wire.Records
			if err := json.Unmarshal(<-frames, &records); err != nil || records.Type != wire.TypeRecords {
				t.Fatalf("%v %+v", err, records)
			}
			for _, record := range records.Records {
				if n++; record.N != n {
					t.Fatalf("record %d, want %d", record.N, n)
				}
			}
		}
		if n != 8 || pings < 30 {
			t.Errorf("n = %d, %d pings in ten minutes", n, pings)
		}
		stop()
		if err := <-failed; !websocket.IsCloseError(err, websocket.CloseGoingAway) {
			t.Errorf("the end: %v", err)
		}
		connection.Close()
	})
}

func TestStreamComesAsBytesToWhoAsksForThem(t *testing.T) {
	for _, one := range []struct {
		asked []string
		want  int
	}{{nil, websocket.TextMessage}, {[]string{"another"}, websocket.TextMessage}, {[]string{bytesProtocol}, websocket.BinaryMessage}} {
		synctest.Test(t, func(t *testing.T) {
			network, stop := inBubble(t, newClassroom())
			connection := openStream(t, network, one.asked...)
			messageType, frame, err := connection.ReadMessage()
			var snapshot wire.Snapshot
			if err != nil || messageType != one.want || json.Unmarshal(frame, &snapshot) != nil || snapshot.Type != wire.TypeSnapshot {
				t.Errorf("asked for %v: message type %d, want %d; %v; %.80s", one.asked, messageType, one.want, err, frame)
			}
			connection.Close()
			stop()
		})
	}
}

func TestSilentBrowserIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newClassroom()
		network, stop := inBubble(t, room)
		connection := openStream(t, network)
		// It reads nothing, so it answers no ping.
		time.Sleep(5 * time.Minute)
		_, err := io.Copy(io.Discard, connection.NetConn())
		if err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("the connection: %v", err)
		}
		connection.Close()
		stop()
	})
}

func TestBrowserThatSleptSeesThePresentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := newClassroom()
		network, stop := inBubble(t, room)
		connection := openStream(t, network)
		// Far more than the buffers between here and there hold, while nothing is read: 20 seconds, less than it takes to be given up.
		padding := strings.Repeat("x", 2000)
		for range 2000 {
			for range 5 {
				room.tracers["kafka-2"].Emit(trace.KafkaControllerResigned{Reason: padding})
			}
			time.Sleep(10 * time.Millisecond)
		}
		room.serve()
		time.Sleep(time.Second)
		var last wire.Snapshot
		var n uint64
		for n < 4+10_000+4 {
			_, frame, err := connection.ReadMessage()
			if err != nil {
				t.Fatalf("at record %d: %v", n, err)
			}
			var either struct {
				wire.Snapshot
				Records []wire.Record `json:"records"`
			}
			if err := json.Unmarshal(frame, &either); err != nil {
				t.Fatal(err)
			}
			if either.Type == wire.TypeSnapshot {
				last, n = either.Snapshot, either.N
			}
			for _, record := range either.Records {
				if record.N != n+1 {
					t.Fatalf("record %d after %d", record.N, n)
				}
				n = record.N
			}
		}
		if last.Resynchronised == 0 {
			t.Error("it was never resynchronised")
		}
		connection.Close()
		stop()
	})
}
