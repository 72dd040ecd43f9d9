package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

const testBucket = "segments"

// testStore is an object store in this process. Its faults are met one after the other, one by each request; they answer it, or break it.
type testStore struct {
	backend *s3mem.Backend
	server  *httptest.Server

	mu     sync.Mutex
	faults []fault
	asked  int
}

// fault is what happens to one request.
type fault func(w http.ResponseWriter, r *http.Request, serve http.Handler)

func newTestStore(t *testing.T) *testStore {
	t.Helper()
	s := &testStore{backend: s3mem.New()}
	if err := s.backend.CreateBucket(testBucket); err != nil {
		t.Fatal(err)
	}
	serve := gofakes3.New(s.backend).Server()
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asked++
		var met fault
		if len(s.faults) > 0 {
			met, s.faults = s.faults[0], s.faults[1:]
		}
		s.mu.Unlock()
		if met != nil {
			met(w, r, serve)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(s.server.Close)
	return s
}

func (s *testStore) open(t *testing.T, prefix string) *ObjectStore {
	t.Helper()
	store, err := OpenObjectStore(ObjectStoreConfig{
		Endpoint: strings.TrimPrefix(s.server.URL, "http://"), Bucket: testBucket, Prefix: prefix, AccessKey: "key", SecretKey: "secret",
		Transport: s.server.Client().Transport, Attempts: 3,
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func (s *testStore) meet(faults ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults, s.asked = faults, 0
}

func (s *testStore) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func refuse(status int) fault {
	return func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(status)
	}
}

// reset takes half of a request's body, if it has one, and resets the connection.
func reset(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	io.CopyN(io.Discard, r.Body, r.ContentLength/2)
	panic(http.ErrAbortHandler)
}

// lost serves the request, but nobody learns of it.
func lost(_ http.ResponseWriter, r *http.Request, serve http.Handler) {
	serve.ServeHTTP(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// halfAnswer breaks the connection in the middle of the answer's body.
func halfAnswer(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	recorder := httptest.NewRecorder()
	serve.ServeHTTP(recorder, r)
	for name, values := range recorder.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(recorder.Code)
	w.Write(recorder.Body.Bytes()[:recorder.Body.Len()/2])
	http.NewResponseController(w).Flush() // else the transport would ask again itself
	panic(http.ErrAbortHandler)
}

// withoutRange answers with the whole object, whatever was asked for.
func withoutRange(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	r.Header.Del("Range")
	serve.ServeHTTP(w, r)
}

// flipped changes a bit of the body on its way.
func flipped(w http.ResponseWriter, r *http.Request, serve http.Handler) {
	content, _ := io.ReadAll(r.Body)
	content[len(content)/2] ^= 1
	r.Body = io.NopCloser(bytes.NewReader(content))
	serve.ServeHTTP(w, r)
}

// TestATroubledObjectStore: what passes is tried again, a bounded number of times; what was there stays, until all of the new is there.
func TestATroubledObjectStore(t *testing.T) {
	s := newTestStore(t)
	m := s.open(t, "")
	large := strings.Repeat("0123456789abcdef", 1<<16)
	for i, c := range []struct {
		name     string
		faults   []fault
		requests int
		fails    bool
	}{
		{"no trouble", nil, 1, false},
		{"overloaded", []fault{refuse(503), refuse(429)}, 3, false},
		{"overloaded for too long", []fault{refuse(503), refuse(500), refuse(503), refuse(503)}, 3, true},
		{"reset half-way", []fault{reset}, 2, false},
		{"reset again and again", []fault{reset, reset, reset, reset}, 3, true},
		{"an answer that is lost", []fault{lost}, 2, false},
		{"a bit that flips on the way", []fault{flipped}, 2, false},
		{"a bit that always flips", []fault{flipped, flipped, flipped}, 3, true},
		{"a request that is forbidden", []fault{refuse(403)}, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			name := fmt.Sprint("log/", i)
			put(t, m, name, "old")
			s.meet(c.faults...)
			err := m.Put(t.Context(), name, strings.NewReader(large), int64(len(large)))
			if asked := s.requests(); c.fails != (err != nil) || asked != c.requests {
				t.Errorf("%d requests, %v", asked, err)
			}
			s.meet()
			if got := read(t, m, name); got != large && !c.fails || got != "old" && c.fails {
				t.Errorf("%d bytes are there", len(got))
			}
		})
	}
}

// TestReadsOfATroubledObjectStore: an object's end is never mistaken for a connection's.
func TestReadsOfATroubledObjectStore(t *testing.T) {
	s := newTestStore(t)
	m := s.open(t, "")
	put(t, m, "log/1", "0123456789")
	p := make([]byte, 6)
	for name, faults := range map[string][]fault{"reset": {reset}, "half an answer": {halfAnswer}, "overloaded": {refuse(503), refuse(503)}} {
		s.meet(faults...)
		clear(p)
		if n, err := m.ReadAt(t.Context(), "log/1", p, 2); n != 6 || err != nil || string(p) != "234567" {
			t.Errorf("%s: %d bytes, %v, %q", name, n, err, p)
		}
	}
	s.meet(halfAnswer, halfAnswer, halfAnswer)
	if _, err := m.ReadAt(t.Context(), "log/1", p, 6); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	for offset := range int64(2) {
		s.meet(withoutRange, withoutRange, withoutRange)
		if _, err := m.ReadAt(t.Context(), "log/1", p, offset); err == nil || !strings.Contains(err.Error(), "cannot serve ranges") {
			t.Errorf("the whole object was taken for its bytes from %d on: %v", offset, err)
		}
	}
	s.meet(refuse(503), reset)
	if names, err := m.List(t.Context(), ""); err != nil || !slices.Equal(names, []string{"log/1"}) {
		t.Error(names, err)
	}
	s.meet(lost)
	if err := m.Remove(t.Context(), "log/1"); err != nil {
		t.Error(err)
	}
	if _, err := m.Size(t.Context(), "log/1"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// TestAContextEndsAnUpload in its middle, and the waiting between attempts.
func TestAContextEndsAnUpload(t *testing.T) {
	s := newTestStore(t)
	m := s.open(t, "")
	put(t, m, "log/1", "old")
	for name, when := range map[string]func(end context.CancelFunc) fault{
		"half-way": func(end context.CancelFunc) fault {
			return func(w http.ResponseWriter, r *http.Request, serve http.Handler) { end(); reset(w, r, serve) }
		},
		"between attempts": func(end context.CancelFunc) fault {
			return func(w http.ResponseWriter, r *http.Request, serve http.Handler) { refuse(503)(w, r, serve); end() }
		},
	} {
		ctx, end := context.WithCancel(t.Context())
		s.meet(when(end))
		if err := m.Put(ctx, "log/1", bytes.NewReader(make([]byte, 1<<20)), 1<<20); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		s.meet()
		if got := read(t, m, "log/1"); got != "old" {
			t.Errorf("%s: %d bytes are there", name, len(got))
		}
	}
}

// TestAStreamIsSentOnce, because it cannot be read again; one that breaks off leaves what was there.
func TestAStreamIsSentOnce(t *testing.T) {
	s := newTestStore(t)
	m := s.open(t, "")
	put(t, m, "log/1", "old")
	gone := errors.New("the disk is gone")
	half := io.MultiReader(bytes.NewReader(make([]byte, 1<<20)), iotest.ErrReader(gone))
	if err := m.Put(t.Context(), "log/1", half, 2<<20); !errors.Is(err, gone) {
		t.Error(err)
	}
	s.meet(refuse(503))
	if err := m.Put(t.Context(), "log/1", stream("new"), 3); err == nil || s.requests() != 1 {
		t.Error(err, s.requests())
	}
	if got := read(t, m, "log/1"); got != "old" {
		t.Errorf("%d bytes are there", len(got))
	}
	long := strings.Repeat("0123456789", 100_000)
	if err := m.Put(t.Context(), "log/1", stream(long), int64(len(long))); err != nil || read(t, m, "log/1") != long {
		t.Error(err)
	}
}

// TestManyNamesAreListed: more than the store tells at once.
func TestManyNamesAreListed(t *testing.T) {
	s := newTestStore(t)
	m := s.open(t, "twinlog/")
	var want []string
	for i := range 1100 {
		name := fmt.Sprintf("log/%04d", i)
		want = append(want, name)
		if _, err := s.backend.PutObject(testBucket, "twinlog/"+name, nil, strings.NewReader("x"), 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	put(t, s.open(t, "another/"), "log/0", "x")
	s.meet()
	if got, err := m.List(t.Context(), "log/"); err != nil || !slices.Equal(got, want) || s.requests() < 2 {
		t.Error(len(got), err, s.requests())
	}
}

func TestErrorsOfAnObjectStoreSayWhatToDo(t *testing.T) {
	s := newTestStore(t)
	m := s.open(t, "")
	says := func(want string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not said: %v", want, err)
		}
	}
	says("roll segments earlier", m.Put(t.Context(), "a", strings.NewReader(""), LargestObject+1))
	says("takes no file", m.Put(t.Context(), "/a", strings.NewReader(""), 0))
	says("more bytes than were announced", m.Put(t.Context(), "a", strings.NewReader("12"), 1))
	s.meet(slices.Repeat([]fault{reset}, 9)...) // a transport may ask again itself
	_, err := m.List(t.Context(), "")
	says("runs and can be reached", err)
	s.meet(refuse(403))
	_, err = m.Size(t.Context(), "a")
	says("check the keys", err)
	m.bucket = "elsewhere"
	says("make the bucket", m.Put(t.Context(), "a", strings.NewReader(""), 0))
	_, err = OpenObjectStore(ObjectStoreConfig{Endpoint: "127.0.0.1:1", Bucket: "b"})
	says("there is no transport", err)
	_, err = OpenObjectStore(ObjectStoreConfig{Endpoint: "http://127.0.0.1/a", Bucket: "b", Transport: http.DefaultTransport})
	says("open the bucket b at http://127.0.0.1/a", err)
}
