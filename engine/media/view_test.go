package media

import (
	"errors"
	"io"
	"testing"
)

// A severed view fails at once, and so does what is under way; the medium is as if the node had died then.
func TestSeveredView(t *testing.T) {
	medium := NewMemory()
	put(t, medium, "kept", "content")
	v := NewView(medium)
	reading, failed := make(chan struct{}), make(chan error, 1)
	content, writer := io.Pipe()
	go func() {
		close(reading)
		failed <- v.Put(t.Context(), "upload", content, 100)
	}()
	<-reading
	if _, err := writer.Write([]byte("half of it")); err != nil {
		t.Fatal(err)
	}
	v.Sever()
	writer.Close()
	if err := <-failed; !errors.Is(err, ErrSevered) {
		t.Errorf("what was under way: %v", err)
	}
	_, readErr := v.ReadAt(t.Context(), "kept", make([]byte, 1), 0)
	_, sizeErr := v.Size(t.Context(), "kept")
	_, listErr := v.List(t.Context(), "")
	for what, err := range map[string]error{
		"read": readErr, "size": sizeErr, "list": listErr, "remove": v.Remove(t.Context(), "kept"),
		"remove unfinished": v.RemoveUnfinished(t.Context(), ""), "put": v.Put(t.Context(), "late", content, 0),
	} {
		if !errors.Is(err, ErrSevered) {
			t.Errorf("%s: %v", what, err)
		}
	}
	names, err := medium.List(t.Context(), "")
	if err != nil || len(names) != 1 || names[0] != "kept" {
		t.Errorf("the medium has %v, %v", names, err)
	}
}
