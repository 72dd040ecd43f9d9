package controllerdriver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/kafka/controller"
	"twinlog/engine/kafka/metadata"
	"twinlog/engine/trace"
)

// race waits until /controller is free and tries to take it; it returns the term that begins, or nil when the context ended. Whoever
// creates the znode raises the epoch in the same transaction, so no two terms have the same epoch.
func (d *Driver) race(ctx context.Context) (*term, error) {
	for {
		var changed <-chan zk.Event
		var stat *zk.Stat
		err := d.patiently(ctx, func() (err error) {
			_, stat, changed, err = d.config.ZooKeeper.GetW(metadata.ControllerPath)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil, nil
		case err == nil && stat.EphemeralOwner == d.config.ZooKeeper.SessionID():
			// Left over from a term of ours that could not clean up.
			if err := d.config.ZooKeeper.Delete(metadata.ControllerPath, stat.Version); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return nil, fmt.Errorf("giving up %s of an earlier term: %w", metadata.ControllerPath, err)
			}
		case err == nil:
			if !d.waitFor(ctx, changed) {
				return nil, nil
			}
		case errors.Is(err, zk.ErrNoNode):
			if t, err := d.tryToWin(ctx); t != nil || err != nil {
				return t, err
			}
		default:
			return nil, fmt.Errorf("reading %s: %w", metadata.ControllerPath, err)
		}
	}
}

// waitFor waits for a watch and refuses what arrives meanwhile.
func (d *Driver) waitFor(ctx context.Context, changed <-chan zk.Event) bool {
	for {
		select {
		case <-changed:
			return true
		case e := <-d.events:
			e.drop()
		case <-ctx.Done():
			return false
		}
	}
}

func (d *Driver) tryToWin(ctx context.Context) (*term, error) {
	epoch, version, err := d.readEpoch(ctx)
	if err != nil {
		return nil, err
	}
	next := epoch + 1
	conn := d.config.ZooKeeper
	payload := metadata.NewController(d.config.BrokerID, time.Now().UnixMilli()).Encode()
	results, err := conn.Multi(
		&zk.CreateRequest{Path: metadata.ControllerPath, Data: payload, Flags: zk.FlagEphemeral, Acl: zk.WorldACL(zk.PermAll)},
		&zk.SetDataRequest{Path: metadata.ControllerEpochPath, Data: metadata.EncodeControllerEpoch(next), Version: version},
	)
	switch err := firstError(results, err); {
	case err == nil:
		return d.begin(ctx, next, version+1), nil
	case errors.Is(err, zk.ErrNodeExists), errors.Is(err, zk.ErrBadVersion):
		return nil, nil // somebody else was faster
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrNoServer):
		// It may have succeeded. The next look at /controller tells: a znode of this session is then given up and raced for again.
		return nil, nil
	default:
		return nil, fmt.Errorf("taking %s: %w", metadata.ControllerPath, err)
	}
}

// readEpoch reads /controller_epoch and its version; the first controller of a cluster creates it as 0.
func (d *Driver) readEpoch(ctx context.Context) (epoch, version int32, err error) {
	var data []byte
	var stat *zk.Stat
	err = d.patiently(ctx, func() (err error) {
		data, stat, err = d.config.ZooKeeper.Get(metadata.ControllerEpochPath)
		if errors.Is(err, zk.ErrNoNode) {
			_, err = d.config.ZooKeeper.Create(metadata.ControllerEpochPath, metadata.EncodeControllerEpoch(0), 0, zk.WorldACL(zk.PermAll))
			if err == nil || errors.Is(err, zk.ErrNodeExists) {
				data, stat, err = d.config.ZooKeeper.Get(metadata.ControllerEpochPath)
			}
		}
		return err
	})
	if err != nil {
		return 0, 0, fmt.Errorf("reading %s: %w", metadata.ControllerEpochPath, err)
	}
	epoch, err = metadata.DecodeControllerEpoch(data)
	return epoch, stat.Version, err
}

// release removes /controller, if this term still has it: a newer controller's epoch fails the check.
func (d *Driver) release(t *term) {
	results, err := d.config.ZooKeeper.Multi(
		&zk.CheckVersionRequest{Path: metadata.ControllerEpochPath, Version: t.epochVersion},
		&zk.DeleteRequest{Path: metadata.ControllerPath, Version: -1},
	)
	if err := firstError(results, err); err != nil {
		d.logger.Debug("there was no znode to give up", "error", err)
	}
}

func (d *Driver) begin(ctx context.Context, epoch, epochVersion int32) *term {
	termContext, cancel := context.WithCancel(ctx)
	t := &term{
		driver: d, ctx: termContext, cancel: cancel, epochVersion: epochVersion,
		state: controller.New(d.config.BrokerID, epoch, d.settings()), senders: map[int32]*sender{}, watched: map[string]bool{},
	}
	d.config.Tracer.Emit(trace.KafkaControllerElected{Broker: d.config.BrokerID, Epoch: epoch})
	d.logger.Info("this broker is the controller", "epoch", epoch)
	return t
}

// firstError is the reason why a multi failed: that of the first operation with an error; the ones before it were rolled back and report
// none, the ones after it were not tried.
func firstError(results []zk.MultiResponse, err error) error {
	if err != nil {
		return err
	}
	for _, result := range results {
		if result.Error != nil {
			return result.Error
		}
	}
	return nil
}
