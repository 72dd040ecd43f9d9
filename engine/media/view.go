package media

import (
	"context"
	"errors"
	"io"
)

// ErrSevered: the node has no way to the medium any more, because it was killed.
var ErrSevered = errors.New("the node is cut off from the medium")

// View is one node's way to a medium that it shares with others. The medium outlives the node; what a node does after its death must not
// reach it.
type View struct {
	medium  Medium
	severed context.Context
	sever   context.CancelFunc
}

// NewView returns a node's way to a medium.
func NewView(medium Medium) *View {
	severed, sever := context.WithCancel(context.Background())
	return &View{medium: medium, severed: severed, sever: sever}
}

// Sever makes everything fail from now on, what is under way too.
func (v *View) Sever() { v.sever() }

// do does something with the medium, unless or until the view is severed.
func (v *View) do(ctx context.Context, something func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(v.severed, cancel)()
	if v.severed.Err() != nil {
		return ErrSevered
	}
	err := something(ctx)
	if v.severed.Err() != nil {
		return ErrSevered // whatever became of it, the node does not learn it
	}
	return err
}

func (v *View) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	return v.do(ctx, func(ctx context.Context) error { return v.medium.Put(ctx, name, content, size) })
}

func (v *View) ReadAt(ctx context.Context, name string, p []byte, offset int64) (n int, err error) {
	err = v.do(ctx, func(ctx context.Context) error { n, err = v.medium.ReadAt(ctx, name, p, offset); return err })
	return n, err
}

func (v *View) Size(ctx context.Context, name string) (size int64, err error) {
	err = v.do(ctx, func(ctx context.Context) error { size, err = v.medium.Size(ctx, name); return err })
	return size, err
}

func (v *View) List(ctx context.Context, prefix string) (names []string, err error) {
	err = v.do(ctx, func(ctx context.Context) error { names, err = v.medium.List(ctx, prefix); return err })
	return names, err
}

func (v *View) Remove(ctx context.Context, name string) error {
	return v.do(ctx, func(ctx context.Context) error { return v.medium.Remove(ctx, name) })
}

func (v *View) RemoveUnfinished(ctx context.Context, prefix string) error {
	return v.do(ctx, func(ctx context.Context) error { return v.medium.RemoveUnfinished(ctx, prefix) })
}
