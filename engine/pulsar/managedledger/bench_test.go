package managedledger_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"twinlog/engine/disk"
	"twinlog/engine/fabric"
	"twinlog/engine/pulsar/bookie"
	"twinlog/engine/pulsar/bookkeeper"
	"twinlog/engine/pulsar/bookkeeper/metadata/memorystore"
	"twinlog/engine/pulsar/managedledger"
	"twinlog/engine/trace"
)

// BenchmarkPublish adds entries of 1 KiB to one managed ledger over four bookies: real sockets, real files, an fsync before each
// acknowledgement. So many adds are under way at a time.
func BenchmarkPublish(b *testing.B) {
	for _, window := range []int{1, 100, 1000, 5000} {
		b.Run(fmt.Sprintf("window=%d", window), func(b *testing.B) { benchmarkPublish(b, window, nil) })
	}
	b.Run("window=1000/traced", func(b *testing.B) {
		tracer := trace.NewTracer("run", "pulsar-1", 1<<16)
		stop := make(chan struct{})
		defer close(stop)
		benchmarkPublish(b, 1000, tracer)
	})
}

func benchmarkPublish(b *testing.B, window int, tracer *trace.Tracer) {
	f, zookeeper := fabric.NewTCP(), memorystore.NewServer()
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	for i := range 4 {
		files, err := disk.NewOS(b.TempDir())
		if err != nil {
			b.Fatal(err)
		}
		node, err := bookie.New(bookie.Config{
			Listen: "127.0.0.1:0", Network: f.Of(fmt.Sprintf("bookie-%d", i+1)), Disk: files, Connect: zookeeper.Connect, Tracer: tracer,
		})
		if err != nil {
			b.Fatal(err)
		}
		running.Go(func() { node.Run(ctx) })
		<-node.Ready()
	}
	store := zookeeper.NewSession()
	client, err := bookkeeper.New(bookkeeper.Config{Network: f.Of("pulsar-1"), Store: store, Tracer: tracer})
	if err != nil {
		b.Fatal(err)
	}
	running.Go(func() { client.Run(ctx) })
	<-client.Ready()
	factory, err := managedledger.NewFactory(managedledger.Config{Store: store, Bookies: client, Tracer: tracer})
	if err != nil {
		b.Fatal(err)
	}
	m, err := factory.Open(b.Context(), topic, managedledger.Options{})
	if err != nil {
		b.Fatal(err)
	}
	slots := make(chan struct{}, window)
	b.SetBytes(1024)
	b.ResetTimer()
	for b.Loop() {
		slots <- struct{}{}
		m.AddEntry(make([]byte, 1024), 1, func(_ position, err error) {
			if err != nil {
				b.Error(err)
			}
			<-slots
		})
	}
	for range window {
		slots <- struct{}{}
	}
	b.StopTimer()
	if err := factory.Close(b.Context()); err != nil {
		b.Error(err)
	}
}
