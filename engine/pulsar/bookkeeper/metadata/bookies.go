package metadata

import (
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"
	"google.golang.org/protobuf/proto"

	"twinlog/engine/pulsar/bookkeeperpb"
)

// Register creates the ephemeral znode of a bookie, among those that take adds or among those that only serve reads, and then deletes the
// other one, so that the bookie is never in neither place. A znode that an earlier session of the same bookie left behind is taken over
// at once: its cookie has proved that it is the same bookie, and the dead session would only make everybody wait.
func Register(store Store, bookie string, readOnly bool) error {
	info, err := serviceInfo(bookie)
	if err != nil {
		return err
	}
	path, other := BookiePath(bookie), ReadOnlyBookiePath(bookie)
	if readOnly {
		path, other = other, path
	}
	for range 3 {
		if _, err = store.Create(path, info, zk.FlagEphemeral, Open()); err != zk.ErrNodeExists {
			break
		}
		if deleteErr := store.Delete(path, -1); deleteErr != nil && deleteErr != zk.ErrNoNode {
			err = deleteErr
			break
		}
	}
	if err == nil {
		if err = store.Delete(other, -1); err == zk.ErrNoNode {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("register bookie %s: %w", bookie, err)
	}
	return nil
}

// serviceInfo is the znode's value: where the bookie's protocol is spoken.
func serviceInfo(bookie string) ([]byte, error) {
	host, portText, err := net.SplitHostPort(bookie)
	if err != nil {
		return nil, fmt.Errorf("bookie %q: %w", bookie, err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("bookie %q: port: %w", bookie, err)
	}
	return proto.Marshal(&bookkeeperpb.BookieServiceInfoFormat{
		Endpoints: []*bookkeeperpb.BookieServiceInfoFormat_Endpoint{{
			Id: proto.String("bookie"), Host: proto.String(host), Port: proto.Int32(int32(port)), Protocol: proto.String("bookie-rpc"),
		}},
	})
}

// WatchBookies lists the bookies that take adds, sorted; the channel fires once when the list changes.
func WatchBookies(store Store) ([]string, <-chan zk.Event, error) {
	children, _, changed, err := store.ChildrenW(AvailablePath)
	if err != nil {
		return nil, nil, fmt.Errorf("list bookies: %w", err)
	}
	bookies := slices.DeleteFunc(children, func(name string) bool { return name == "readonly" })
	slices.Sort(bookies)
	return bookies, changed, nil
}
