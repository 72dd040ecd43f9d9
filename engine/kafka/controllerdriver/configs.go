package controllerdriver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/metadata"
)

// configWriter changes configuration znodes. Every broker may do so, not only the controller, so it has a goroutine of its own: reading,
// changing and writing takes several steps that must not wait in a handler.
type configWriter struct {
	driver *Driver
	jobs   chan func(ctx context.Context)
}

// maxConfigJobs bounds the changes that wait.
const maxConfigJobs = 256

func newConfigWriter(d *Driver) *configWriter {
	return &configWriter{driver: d, jobs: make(chan func(context.Context), maxConfigJobs)}
}

// run starts the goroutine; the function that it returns waits for its end.
func (w *configWriter) run(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case job := <-w.jobs:
				job(ctx)
			case <-ctx.Done():
				return
			}
		}
	})
	return running.Wait
}

// do hands over a job; false when too many wait.
func (w *configWriter) do(job func(ctx context.Context)) bool {
	select {
	case w.jobs <- job:
		return true
	default:
		return false
	}
}

// readConfig reads what was set on an entity; version is -1 when it has no znode.
func (d *Driver) readConfig(ctx context.Context, entityType, entity string) (config map[string]string, version int32, err error) {
	path := metadata.ConfigPath(entityType, entity)
	var data []byte
	var stat *zk.Stat
	err = d.patiently(ctx, func() (err error) {
		data, stat, err = d.config.ZooKeeper.Get(path)
		return err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return map[string]string{}, -1, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", path, err)
	}
	payload, err := metadata.DecodeConfig(path, data)
	if err != nil {
		return nil, 0, err
	}
	if payload.Config == nil {
		payload.Config = map[string]string{}
	}
	return payload.Config, stat.Version, nil
}

// changeConfig reads an entity's configuration, lets change make a new one of it and writes that, with a notice that makes every broker read
// it again. When somebody else wrote meanwhile it starts over, so that no change is lost. With dry, nothing is written.
func (d *Driver) changeConfig(ctx context.Context, entityType, entity string, dry bool, change func(map[string]string) (map[string]string, error)) error {
	for ctx.Err() == nil {
		before, version, err := d.readConfig(ctx, entityType, entity)
		if err != nil {
			return err
		}
		after, err := change(maps.Clone(before))
		if err != nil || dry {
			return err
		}
		err = d.writeConfig(entityType, entity, after, version)
		if !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
	}
	return ctx.Err()
}

func (d *Driver) writeConfig(entityType, entity string, config map[string]string, version int32) error {
	path := metadata.ConfigPath(entityType, entity)
	data := metadata.NewConfig(config).Encode()
	var operation any = &zk.SetDataRequest{Path: path, Data: data, Version: version}
	if version < 0 {
		operation = create(path, data)
	}
	results, err := d.config.ZooKeeper.Multi(operation, &zk.CreateRequest{
		Path: metadata.ConfigChangePrefix, Data: metadata.NewConfigChange(entityType, entity).Encode(), Flags: zk.FlagSequence,
		Acl: zk.WorldACL(zk.PermAll),
	})
	if err := firstError(results, err); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// childrenOf lists the children of a znode in order.
func (d *Driver) childrenOf(ctx context.Context, path string) (names []string, err error) {
	err = d.patiently(ctx, func() (err error) {
		names, _, err = d.config.ZooKeeper.Children(path)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the children of %s: %w", path, err)
	}
	slices.Sort(names)
	return names, nil
}
