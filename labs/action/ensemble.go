package action

import (
	"cmp"
	"context"
	"errors"
	"path"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/node"
	"twinlog/engine/sentence"
	"twinlog/labs/lab"
)

const (
	sessionTimeout = 4 * time.Second
	// connectPatience is how long a session may take to come about.
	connectPatience = 10 * time.Second
)

type silent struct{}

func (silent) Printf(string, ...any) {}

// ensembleSession opens a session at the ensemble, as any ZooKeeper client would.
func (r *Runner) ensembleSession(ctx context.Context) (*zk.Conn, error) {
	var servers []string
	for _, status := range r.nodes.Nodes() {
		if status.Role == node.RoleEnsemble {
			servers = append(servers, status.Addresses[node.PurposeZooKeeper])
		}
	}
	session, events, err := zk.Connect(servers, sessionTimeout, zk.WithLogger(silent{}))
	if err != nil {
		return nil, sentence.Error(nil, "openingSession", "open a session at {servers}: {why}", servers, err)
	}
	ctx, cancel := context.WithTimeout(ctx, connectPatience)
	defer cancel()
	for {
		select {
		case event := <-events:
			if event.State == zk.StateHasSession {
				return session, nil
			}
		case <-ctx.Done():
			session.Close()
			return nil, sentence.Error(nil, "noSessionYet", "open a session at {servers}: none yet; does a majority of the servers run? {why}", servers, ctx.Err())
		}
	}
}

// withSession calls do with a session that it closes afterwards, and at the latest when the context ends: an ensemble without a majority
// answers nothing.
func (r *Runner) withSession(ctx context.Context, do func(session *zk.Conn) error) error {
	session, err := r.ensembleSession(ctx)
	if err != nil {
		return err
	}
	defer session.Close()
	defer context.AfterFunc(ctx, session.Close)()
	return do(session)
}

// ensure creates a persistent znode and its parents where they are missing.
func ensure(session *zk.Conn, name string) error {
	if name == "/" {
		return nil
	}
	if found, _, err := session.Exists(name); err != nil || found {
		return err
	}
	if err := ensure(session, path.Dir(name)); err != nil {
		return err
	}
	_, err := session.Create(name, nil, 0, zk.WorldACL(zk.PermAll))
	if errors.Is(err, zk.ErrNodeExists) {
		return nil
	}
	return err
}

func (r *Runner) ensembleSet(ctx context.Context, action *lab.EnsembleSet) error {
	return r.withSession(ctx, func(session *zk.Conn) error {
		err := ensure(session, action.Path)
		if err == nil {
			_, err = session.Set(action.Path, []byte(action.Data), -1)
		}
		if err != nil {
			return sentence.Error(nil, "settingZnode", "set znode {path}: {why}", action.Path, err)
		}
		return nil
	})
}

func (r *Runner) ensembleDelete(ctx context.Context, action *lab.EnsembleDelete) error {
	return r.withSession(ctx, func(session *zk.Conn) error {
		if err := deleteAll(session, action.Path); err != nil {
			return sentence.Error(nil, "deletingZnode", "delete znode {path}: {why}", action.Path, err)
		}
		return nil
	})
}

func deleteAll(session *zk.Conn, name string) error {
	children, _, err := session.Children(name)
	for _, child := range children {
		if err := deleteAll(session, path.Join(name, child)); err != nil {
			return err
		}
	}
	if err == nil {
		err = session.Delete(name, -1)
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

func (r *Runner) ensembleOpen(ctx context.Context, action *lab.EnsembleOpen) error {
	session, err := r.ensembleSession(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, session.Close)
	if action.Ephemeral != "" {
		if err = ensure(session, path.Dir(action.Ephemeral)); err == nil {
			_, err = session.Create(action.Ephemeral, []byte(action.As), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		}
	}
	if err == nil && action.Watch != "" {
		_, _, _, err = session.GetW(action.Watch)
	}
	if !stop() {
		err = cmp.Or(err, ctx.Err())
	}
	if err != nil {
		session.Close()
		return sentence.Error(nil, "theSession", "the session {session}: {why}", action.As, err)
	}
	return r.keep(action.As, session.Close)
}
