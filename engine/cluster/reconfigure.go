package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/go-zookeeper/zk"

	"twinlog/engine/fabric"
	"twinlog/engine/node"
	"twinlog/engine/pulsar/bookkeeper/metadata"
	"twinlog/engine/sentence"
)

// Changes of who belongs to the cluster that the ensemble has to know. They are asked for as an administrator would: by a client of the
// ensemble, with the password of its super user.

const (
	administratorSession = 10 * time.Second
	// joinPatience is how long a new ensemble server may take to reach the leader.
	joinPatience = 5 * time.Second
)

// asAdministrator calls do with a session of the ensemble. What do waits for ends with the context: an ensemble that has lost its majority
// answers nothing.
func (c *Cluster) asAdministrator(ctx context.Context, do func(*zk.Conn) error) error {
	layout, network := c.Layout(), c.fabric.Of(fabric.Client)
	defer network.Sever()
	conn, events, err := metadata.Connect(network, layout.zooKeeper(), administratorSession, c.logger)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, network.Sever)() // what waits for an answer fails
	for connected := false; !connected; {
		select {
		case event := <-events:
			connected = event.State == zk.StateHasSession
		case <-ctx.Done():
			return sentence.Error(nil, "noSession", "the ensemble gave no session; does it have a majority? {why}", context.Cause(ctx))
		}
	}
	if layout.Secret != "" {
		err = conn.AddAuth("digest", []byte("super:"+layout.Secret))
	}
	if err != nil {
		err = fmt.Errorf("becoming the ensemble's super user: %w", err)
	} else {
		err = do(conn)
	}
	if err != nil && ctx.Err() != nil {
		return sentence.Error(nil, "noEnsembleAnswer", "the ensemble did not answer in time; does it have a majority? {why} ({cause})", err, context.Cause(ctx))
	}
	return err
}

// mayReconfigure says why an ensemble cannot change.
func (c *Cluster) mayReconfigure() error {
	layout := c.Layout()
	switch {
	case len(layout.ZooKeeper) > 0:
		return sentence.Error(ErrRefused, "ensembleIsZooKeeper", "the ensemble is a real ZooKeeper; change it with its own reconfig")
	case layout.Ensemble < 2:
		return sentence.Error(ErrRefused, "ensembleOfOne", "an ensemble that was founded by one server listens for no others; start the classroom with --ensemble 3")
	}
	return nil
}

// errStillMember: a server that did not come up could not be made to leave the ensemble again.
var errStillMember = sentence.Error(nil, "stillMember", "it may have a vote in the ensemble, so it stays: start it, or remove it when the ensemble has a majority")

// join starts one more ensemble server and makes it a member. One that became a member and then does not come up leaves again: it would
// be a voter that nobody can ask. The error is errStillMember when that fails.
func (c *Cluster) join(ctx context.Context, s *Slot) error {
	if err := c.mayReconfigure(); err != nil {
		return err
	}
	l, err := s.startLife(ctx)
	if err != nil {
		return err
	}
	line, err := serverLine(l.config)
	if err != nil {
		return err
	}
	member := false // it may be one
	err = c.asAdministrator(ctx, func(conn *zk.Conn) error {
		for deadline := time.Now().Add(joinPatience); ; {
			_, err := conn.IncrementalReconfig([]string{line}, nil, -1)
			member = err == nil || errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired)
			if err == nil || err.Error() != noQuorum || time.Now().After(deadline) {
				return reconfigError(err)
			}
			select { // the leader does not count the new server before they are connected
			case <-time.After(joinPatience / 50):
			case <-ctx.Done():
				return reconfigError(err)
			}
		}
	})
	if err == nil {
		err = s.awaitReady(ctx, l)
	}
	if err != nil && member && ctx.Err() == nil {
		if failure := c.leave(ctx, s); failure != nil {
			return errors.Join(err, fmt.Errorf("%w; %w", failure, errStillMember))
		}
	}
	return err
}

// serverLine is a server as ZooKeeper's reconfig takes it: server.4=HOST:PEER:PEER;HOST:CLIENT.
func serverLine(config node.Config) (string, error) {
	host, port, err := net.SplitHostPort(config.Addresses[node.PurposePeer].Advertise())
	if err != nil {
		return "", err
	}
	client := config.Addresses[node.PurposeZooKeeper].Advertise()
	return fmt.Sprintf("server.%d=%s:%s:%s:participant;%s", config.ID, host, port, port, client), nil
}

// leave makes an ensemble server no member any more.
func (c *Cluster) leave(ctx context.Context, s *Slot) error {
	if err := c.mayReconfigure(); err != nil {
		return err
	}
	return c.asAdministrator(ctx, func(conn *zk.Conn) error {
		_, err := conn.IncrementalReconfig(nil, []string{strconv.Itoa(s.id)}, -1)
		return reconfigError(err)
	})
}

// What ZooKeeper's client library says of errors that it has no name for.
const (
	noQuorum   = "unknown error: -13"
	inProgress = "unknown error: -14"
)

func reconfigError(err error) error {
	switch {
	case err == nil:
		return nil
	case err.Error() == noQuorum:
		return sentence.Error(ErrRefused, "noMajorityAfter", "the ensemble would have no majority of running servers; start the ones that are down first")
	case err.Error() == inProgress:
		return sentence.Error(ErrWrongState, "reconfiguring", "another reconfiguration of the ensemble is under way; try again")
	}
	return sentence.Error(nil, "reconfigureFailed", "reconfiguring the ensemble: {why}", err)
}

// forgetCookie deletes the znode that ties a bookie's address to its disk, as "bookkeeper shell" does for one that is decommissioned.
func (c *Cluster) forgetCookie(ctx context.Context, s *Slot) error {
	address := s.address(node.PurposeBookie)
	return c.asAdministrator(ctx, func(conn *zk.Conn) error {
		if err := conn.Delete(metadata.CookiePath(address), -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return sentence.Error(nil, "deletingCookie", "deleting the cookie of {node}: {why}", s.Name(), err)
		}
		return nil
	})
}

// LedgerFinder tells what a bookie is needed for.
type LedgerFinder interface {
	// LedgersOn lists the ledgers, by id, that count on a bookie for entries, as the ensemble knows them: it asks for each ledger that there
	// is. It fails when it cannot tell.
	LedgersOn(ctx context.Context, bookie string) ([]int64, error)
}

var _ LedgerFinder = (*Cluster)(nil)

// LedgersOn implements [LedgerFinder].
func (c *Cluster) LedgersOn(ctx context.Context, name string) (ledgers []int64, err error) {
	var s *Slot
	if err := c.do(name, func(found *Slot) error { s = found; return nil }); err != nil {
		return nil, err
	}
	if s.role != node.RoleBookie {
		return nil, sentence.Error(ErrInvalid, "notABookie", "{node} is no bookie", name)
	}
	address := s.address(node.PurposeBookie)
	err = c.asAdministrator(ctx, func(conn *zk.Conn) error {
		ledgers, err = metadata.LedgersOn(ctx, conn, address)
		return err
	})
	if err != nil {
		return nil, sentence.Error(nil, "askingLedgers", "asking the ensemble which ledgers are on {node}: {why}", name, err)
	}
	return ledgers, nil
}
