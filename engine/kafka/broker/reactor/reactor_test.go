package reactor

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"twinlog/engine/fabric"
	"twinlog/engine/trace"
)

// request encodes a frame as a client does.
func request(key, version int16, correlation int32, body []byte, flexible bool) []byte {
	frame := make([]byte, 4)
	frame = binary.BigEndian.AppendUint16(frame, uint16(key))
	frame = binary.BigEndian.AppendUint16(frame, uint16(version))
	frame = binary.BigEndian.AppendUint32(frame, uint32(correlation))
	frame = append(frame, 0, 2, 'm', 'e')
	if flexible {
		frame = append(frame, 0)
	}
	frame = append(frame, body...)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	return frame
}

func encoded(body kmsg.Request, version int16, correlation int32) []byte {
	body.SetVersion(version)
	return request(body.Key(), version, correlation, body.AppendTo(nil), body.IsFlexible())
}

// serve runs a server in a bubble and returns a dialler; the server stops with the test.
func serve(t *testing.T, apis ...API) func() net.Conn {
	t.Helper()
	network := fabric.NewMemory()
	table := &Table{}
	table.Add(apis...)
	server, err := NewServer(Config{Table: table, Handlers: 2, QueuedRequests: 2})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := network.Of("kafka-1").Listen("127.0.0.1:9092")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(ctx, Listener{Name: "PLAINTEXT", Listener: listener}) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return func() net.Conn {
		conn, err := network.Of(fabric.Client).Dial(ctx, "127.0.0.1:9092")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
}

func answerApiVersions(r *Request) { r.Respond(kmsg.NewPtrApiVersionsResponse()) }

func readResponse(t *testing.T, conn net.Conn) (correlation int32, body []byte) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	frame, err := readFrame(conn, MaxFrameSize)
	if err != nil {
		t.Fatal(err)
	}
	return int32(binary.BigEndian.Uint32(frame)), frame[4:]
}

func closed(conn net.Conn) bool {
	conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, err := conn.Read(make([]byte, 1))
	var timeout net.Error
	return err != nil && (!errors.As(err, &timeout) || !timeout.Timeout())
}

// KIP-511: an unknown version of ApiVersions is answered in the form of version 0, with error 35 and one entry; never by closing.
func TestUnknownApiVersions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := serve(t, API{Key: kmsg.ApiVersions, Max: 4, Handle: answerApiVersions})()
		conn.Write(request(18, 9, 5, []byte{1, 2, 3}, true))
		correlation, body := readResponse(t, conn)
		var response kmsg.ApiVersionsResponse
		if err := response.ReadFrom(body); err != nil || correlation != 5 {
			t.Fatal(correlation, err)
		}
		if response.ErrorCode != kerr.UnsupportedVersion.Code || len(response.ApiKeys) != 1 || response.ApiKeys[0].ApiKey != 18 || response.ApiKeys[0].MaxVersion != 4 {
			t.Errorf("the answer is %+v", response)
		}
		conn.Write(encoded(kmsg.NewPtrApiVersionsRequest(), 3, 6)) // and the connection goes on
		if correlation, body := readResponse(t, conn); correlation != 6 || len(body) == 0 {
			t.Errorf("correlation %d, %d bytes", correlation, len(body))
		}
	})
}

func TestBadFramesCloseOnlyTheirConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dial := serve(t, API{Key: kmsg.ApiVersions, Max: 4, Handle: answerApiVersions}, API{Key: kmsg.Metadata, Max: 12, Handle: func(r *Request) { r.Respond(kmsg.NewPtrMetadataResponse()) }})
		good := dial()
		for name, frame := range map[string][]byte{
			"unknown key":       request(200, 0, 1, nil, false),
			"negative key":      request(-1, 0, 1, nil, false),
			"unknown version":   request(3, 99, 1, nil, true),
			"negative size":     {0xff, 0xff, 0xff, 0xff},
			"huge size":         {0x7f, 0xff, 0xff, 0xff},
			"tiny size":         {0, 0, 0, 3, 0, 0, 0},
			"cut client id":     {0, 0, 0, 10, 0, 3, 0, 1, 0, 0, 0, 1, 0, 99},
			"cut body":          request(3, 1, 1, []byte{0, 0, 0, 9}, false),
			"huge array":        request(3, 1, 1, []byte{0x7f, 0xff, 0xff, 0xff}, false),
			"endless tag count": request(3, 9, 1, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, true),
		} {
			conn := dial()
			conn.Write(frame)
			if !closed(conn) {
				t.Errorf("%s: the connection stays open", name)
			}
		}
		good.Write(encoded(kmsg.NewPtrApiVersionsRequest(), 0, 7))
		if correlation, _ := readResponse(t, good); correlation != 7 {
			t.Errorf("correlation %d", correlation)
		}
	})
}

// Requests of one connection are answered in order although a later one could be answered sooner; other connections do not wait.
func TestOrderWithinAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := make(chan *Request, 1)
		dial := serve(t,
			API{Key: kmsg.ApiVersions, Max: 4, Handle: answerApiVersions},
			API{Key: kmsg.Metadata, Max: 12, Handle: func(r *Request) { slow <- r }})
		first, second := dial(), dial()
		first.Write(append(encoded(kmsg.NewPtrMetadataRequest(), 12, 1), encoded(kmsg.NewPtrApiVersionsRequest(), 0, 2)...))
		second.Write(encoded(kmsg.NewPtrApiVersionsRequest(), 0, 3))
		if correlation, _ := readResponse(t, second); correlation != 3 {
			t.Errorf("the other connection got %d", correlation)
		}
		r := <-slow
		go func() {
			time.Sleep(time.Second)
			r.Respond(kmsg.NewPtrMetadataResponse())
			r.Respond(kmsg.NewPtrMetadataResponse()) // does nothing
		}()
		for want := range int32(2) {
			if correlation, _ := readResponse(t, first); correlation != want+1 {
				t.Errorf("got the answer to %d, want %d", correlation, want+1)
			}
		}
	})
}

// section is a Section that remembers being closed.
type section struct {
	*bytes.Reader
	closed atomic.Int32
}

func (s *section) Size() int64                        { return s.Reader.Size() }
func (s *section) Close() error                       { s.closed.Add(1); return nil }
func (s *section) WriteTo(w io.Writer) (int64, error) { return s.Reader.WriteTo(w) }
func newSection(text string) *section                 { return &section{Reader: bytes.NewReader([]byte(text))} }

func TestPayloadsAreClosedWhateverHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requests := make(chan *Request, 1)
		dial := serve(t, API{Key: kmsg.Fetch, Max: 17, Handle: func(r *Request) { requests <- r }})
		answer := func(r *Request, text string) *section {
			s := newSection(text)
			payload := &Payload{}
			payload.AppendBytes([]byte("head "))
			payload.AppendSection(s)
			r.RespondPayload(payload, Nothing)
			return s
		}
		conn := dial()
		conn.Write(encoded(kmsg.NewPtrFetchRequest(), 11, 1))
		sent := answer(<-requests, "records")
		if _, body := readResponse(t, conn); string(body) != "head records" {
			t.Errorf("the body is %q", body)
		}
		conn.Write(encoded(kmsg.NewPtrFetchRequest(), 11, 2))
		r := <-requests
		conn.Close()
		unsent := answer(r, "nobody reads this")
		again := answer(r, "second answer")
		synctest.Wait()
		for name, s := range map[string]*section{"sent": sent, "unsent": unsent, "second": again} {
			if n := s.closed.Load(); n != 1 {
				t.Errorf("%s: closed %d times", name, n)
			}
		}
	})
}

func TestGuardProduce(t *testing.T) {
	many := kmsg.NewPtrProduceRequest()
	many.Topics = make([]kmsg.ProduceRequestTopic, maxProduceParts+1)
	few := kmsg.NewPtrProduceRequest()
	few.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1, Records: []byte("xyz")}, {Records: nil}}}}
	for version := int16(0); version <= 11; version++ {
		few.SetVersion(version)
		body := few.AppendTo(nil)
		if err := guardProduce(version, body); err != nil {
			t.Errorf("v%d: %v", version, err)
		}
		if err := guardProduce(version, body[:len(body)-5]); err == nil {
			t.Errorf("v%d: a request that is cut off passes", version)
		}
		many.SetVersion(version)
		if err := guardProduce(version, many.AppendTo(nil)); !errors.Is(err, errProduceParts) {
			t.Errorf("v%d: %v", version, err)
		}
	}
}

// operation is an Operation for tests.
type operation struct {
	ready     atomic.Bool
	completed atomic.Int32
	expired   atomic.Bool
}

func (o *operation) Ready() bool     { return o.ready.Load() }
func (o *operation) Waits() WaitKind { return WaitsForReplicas }
func (o *operation) Describe() trace.KafkaWait {
	return trace.KafkaWait{API: "Produce", Partition: "orders-0", Offset: 5}
}
func (o *operation) Complete(expired bool) {
	o.completed.Add(1)
	o.expired.Store(expired)
}

func TestPurgatory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPurgatory(1)
		var ready, woken, late, left operation
		ready.ready.Store(true)
		if waiting := p.Watch(&ready, time.Hour, "a"); waiting != 0 || ready.completed.Load() != 1 {
			t.Error("what is ready must not wait")
		}
		p.Watch(&woken, time.Hour, "a", "b")
		p.Watch(&late, time.Minute, "b")
		if waiting := p.Watch(&left, time.Hour, "c"); waiting != 3 {
			t.Errorf("%d operations wait, not 3", waiting)
		}
		p.Wake("a") // not ready: nothing happens
		woken.ready.Store(true)
		p.Wake("c") // not its key
		synctest.Wait()
		if woken.completed.Load() != 0 {
			t.Error("completed without being woken")
		}
		p.Wake("b")
		p.Wake("a")
		time.Sleep(time.Minute)
		synctest.Wait()
		if woken.completed.Load() != 1 || woken.expired.Load() || late.completed.Load() != 1 || !late.expired.Load() {
			t.Errorf("woken %d expired %v, late %d expired %v", woken.completed.Load(), woken.expired.Load(), late.completed.Load(), late.expired.Load())
		}
		p.Close()
		if left.completed.Load() != 1 || p.Waiting() != 0 || len(p.watchers) != 0 {
			t.Errorf("after Close: %d completed, %d waiting, %d keys", left.completed.Load(), p.Waiting(), len(p.watchers))
		}
	})
}

// Many wake the same operations at once: each is completed exactly once.
func TestPurgatoryRace(t *testing.T) {
	p := NewPurgatory(2)
	operations := make([]operation, 500)
	var all sync.WaitGroup
	for i := range operations {
		all.Go(func() { p.Watch(&operations[i], time.Second, i%7, "all") })
		all.Go(func() { operations[i].ready.Store(true); p.Wake(i % 7) })
	}
	all.Wait()
	p.Wake("all")
	p.Close()
	for i := range operations {
		if n := operations[i].completed.Load(); n != 1 {
			t.Errorf("operation %d was completed %d times", i, n)
		}
	}
}

// FuzzDecode feeds frames to the decoder of a broker that serves every API there is.
func FuzzDecode(f *testing.F) {
	table := &Table{}
	for key := range int16(93) {
		if known := kmsg.RequestForKey(key); known != nil {
			table.Add(API{Key: kmsg.Key(key), Max: known.MaxVersion(), Handle: func(*Request) {}})
			for version := int16(0); version <= known.MaxVersion(); version += max(1, known.MaxVersion()) {
				f.Add(encoded(kmsg.RequestForKey(key), version, 1)[4:])
			}
		}
	}
	produce := kmsg.NewPtrProduceRequest()
	produce.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1, Records: []byte("xyz")}}}}
	fetch := kmsg.NewPtrFetchRequest()
	fetch.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{{Partition: 1, FetchOffset: 5}}}}
	for _, version := range []int16{0, 3, 9, 11} {
		f.Add(encoded(produce, version, 1)[4:])
		f.Add(encoded(fetch, version, 1)[4:])
	}
	server, err := NewServer(Config{Table: table})
	if err != nil {
		f.Fatal(err)
	}
	c := &connection{server: server, peer: fabric.Client, name: trace.Connection(&net.TCPAddr{}, &net.TCPAddr{})}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, unsupported, err := c.decode(frame)
		if err != nil || unsupported {
			return
		}
		DescribeRequest(r.Body)
		if r.Body.GetVersion() != r.Version {
			t.Errorf("%s was decoded as version %d", r, r.Body.GetVersion())
		}
	})
}
