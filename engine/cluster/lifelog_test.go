package cluster_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/node"
)

// writer is a node that writes when it is told to and when it ends, and complains of its disk, as a broker does.
type writer struct {
	node.Surroundings
	write chan struct{}
	ready chan struct{}
}

func (w *writer) Ready() <-chan struct{} { return w.ready }

func (w *writer) Run(ctx context.Context) error {
	file, err := w.Disk.OpenFile("log", os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	defer file.Close()
	close(w.ready)
	for {
		ended := false
		select {
		case <-w.write:
		case <-ctx.Done():
			ended = true
		}
		if _, err := file.WriteAt([]byte("x"), 0); err != nil {
			w.Logger.With("partition", "orders-0").Error("the disk failed", "error", err)
		}
		if ended {
			return nil
		}
	}
}

// TestKilledNodeHasNoErrorOfItsDisk: that a killed node's disk is gone is the kill, which a disk that really fails is not.
func TestKilledNodeHasNoErrorOfItsDisk(t *testing.T) {
	for _, one := range []struct {
		name string
		do   func(t *testing.T, slot *cluster.Slot, made *writer)
		want []string
	}{
		{"kill", func(t *testing.T, slot *cluster.Slot, made *writer) { check(t, slot.Kill(t.Context())) },
			[]string{"level=DEBUG", "the disk failed", "partition=orders-0", "afterKill=true"}},
		{"a full disk", func(t *testing.T, slot *cluster.Slot, made *writer) {
			check(t, slot.SetDisk(disk.Fault{Full: true}))
			made.write <- struct{}{}
			synctest.Wait() // it has written
			check(t, slot.SetDisk(disk.Fault{}))
			check(t, slot.Stop(t.Context()))
		}, []string{"level=ERROR", "the disk failed", "partition=orders-0"}},
	} {
		t.Run(one.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var made *writer
				slot := cluster.NewSlot(cluster.SlotConfig{
					Node: config(1), Fabric: fabric.NewMemory(), Disk: disk.NewMemory(),
					Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
					Make: func(_ node.Config, surroundings node.Surroundings) (cluster.Runnable, error) {
						made = &writer{surroundings, make(chan struct{}), make(chan struct{})}
						return made, nil
					},
				})
				check(t, slot.Start(t.Context()))
				<-made.ready
				one.do(t, slot, made)
				synctest.Wait()
				var told string
				for line := range strings.Lines(log.String()) {
					if strings.Contains(line, "the disk failed") {
						told = line
					}
				}
				for _, part := range one.want {
					if !strings.Contains(told, part) {
						t.Errorf("%s is missing in %q", part, told)
					}
				}
			})
		})
	}
}
