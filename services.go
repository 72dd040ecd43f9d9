package main

import (
	"context"
	"errors"
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

// announcer says when all are ready.
type announcer struct {
	all []readier
	say func()
}

func (a announcer) Run(ctx context.Context) error {
	for _, r := range a.all {
		select {
		case <-r.Ready():
		case <-ctx.Done():
			return nil
		}
	}
	a.say()
	<-ctx.Done()
	return nil
}
