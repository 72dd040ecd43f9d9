package main

import (
	"context"
	"errors"
	"time"
)

// runner is what runs beside others until its context ends.
type runner interface {
	Run(ctx context.Context) error
}

type readier interface {
	Ready() <-chan struct{}
}

// runInOrder runs all until the context ends or one of them does, and then ends them one after the other, the first one first.
func runInOrder(ctx context.Context, runners ...runner) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stops := make([]context.CancelFunc, len(runners))
	ended := make([]chan error, len(runners))
	for i, r := range runners {
		var own context.Context
		own, stops[i] = context.WithCancel(context.WithoutCancel(ctx))
		ended[i] = make(chan error, 1)
		go func() {
			defer cancel()
			ended[i] <- r.Run(own)
		}()
	}
	<-ctx.Done()
	var failures []error
	for i := range runners {
		stops[i]()
		failures = append(failures, <-ended[i])
	}
	return errors.Join(failures...)
}

// announcer says when all are ready, and before that, again and again, that they are not yet.
type announcer struct {
	all      []readier
	ready    func()
	patience time.Duration // between two times of saying that it takes long
	notYet   func()
}

func (a announcer) Run(ctx context.Context) error {
	late := time.NewTicker(a.patience)
	defer late.Stop()
	for _, r := range a.all {
		for waiting := true; waiting; {
			select {
			case <-r.Ready():
				waiting = false
			case <-late.C:
				a.notYet()
			case <-ctx.Done():
				return nil
			}
		}
	}
	a.ready()
	<-ctx.Done()
	return nil
}
