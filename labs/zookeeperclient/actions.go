package zookeeperclient

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-zookeeper/zk"
)

func list(o options, arguments []string) (action, error) {
	path := arguments[0]
	if o.recursive && (o.stat || o.watch) {
		return nil, errors.New("ls -R: neither with -s nor with -w")
	}
	return func(conn *zk.Conn) (output []string, err error) {
		if o.recursive {
			below, err := tree(conn, path)
			return below, told("ls -R", path, err)
		}
		read := conn.Children
		if o.watch {
			read = func(path string) ([]string, *zk.Stat, error) {
				children, stat, _, err := conn.ChildrenW(path) // what it tells comes with all other events
				return children, stat, err
			}
		}
		children, stat, err := read(path)
		if err != nil {
			return nil, told("ls", path, err)
		}
		slices.Sort(children)
		return withStat(o, []string{"[" + strings.Join(children, ", ") + "]"}, stat), nil
	}, nil
}

// tree is a path and all below it, a parent before its children.
func tree(conn *zk.Conn, path string) (found []string, err error) {
	children, _, err := conn.Children(path)
	if err != nil {
		return nil, err
	}
	found = append(found, path)
	slices.Sort(children)
	for _, child := range children {
		below, err := tree(conn, strings.TrimSuffix(path, "/")+"/"+child)
		if err != nil && !errors.Is(err, zk.ErrNoNode) { // deleted meanwhile
			return nil, err
		}
		found = append(found, below...)
	}
	return found, nil
}

func get(o options, arguments []string) (action, error) {
	return func(conn *zk.Conn) (output []string, err error) {
		read := conn.Get
		if o.watch {
			read = func(path string) ([]byte, *zk.Stat, error) {
				data, stat, _, err := conn.GetW(path)
				return data, stat, err
			}
		}
		data, stat, err := read(arguments[0])
		if err != nil {
			return nil, told("get", arguments[0], err)
		}
		return withStat(o, []string{printable(data)}, stat), nil
	}, nil
}

// printable is a znode's data for a terminal, which bytes that are no text would put out of order.
func printable(data []byte) string {
	text := string(data)
	if data == nil {
		return "null"
	}
	if strings.ContainsFunc(text, func(r rune) bool {
		return r == unicode.ReplacementChar || unicode.IsControl(r) && r != '\n' && r != '\t'
	}) {
		return fmt.Sprintf("%q", data)
	}
	return text
}

func stat(o options, arguments []string) (action, error) {
	return func(conn *zk.Conn) (output []string, err error) {
		read := conn.Exists
		if o.watch {
			read = func(path string) (bool, *zk.Stat, error) {
				there, stat, _, err := conn.ExistsW(path)
				return there, stat, err
			}
		}
		there, stat, err := read(arguments[0])
		if err == nil && !there {
			err = zk.ErrNoNode
		}
		if err != nil {
			return nil, told("stat", arguments[0], err)
		}
		return described(stat), nil
	}, nil
}

func create(o options, arguments []string) (action, error) {
	path, acl, err := arguments[0], zk.WorldACL(zk.PermAll), error(nil)
	var data []byte
	if len(arguments) > 1 {
		data = []byte(arguments[1])
	}
	if len(arguments) > 2 {
		if acl, err = parseACL(arguments[2]); err != nil {
			return nil, fmt.Errorf("create %s: %w", path, err)
		}
	}
	switch {
	case o.container && (o.ephemeral || o.sequential || o.ttl != 0), o.ttl != 0 && o.ephemeral:
		return nil, errors.New("create: a container is nothing else, and an ephemeral znode has no time to live of its own")
	case o.ttl < 0:
		return nil, errors.New("create -t: the time to live is milliseconds, more than 0")
	}
	return func(conn *zk.Conn) ([]string, error) {
		created, err := o.create(conn, path, data, acl)
		if err != nil {
			return nil, told("create", path, err)
		}
		return []string{"Created " + created}, nil
	}, nil
}

func (o options) create(conn *zk.Conn, path string, data []byte, acl []zk.ACL) (string, error) {
	switch {
	case o.container:
		return conn.CreateContainer(path, data, zk.FlagContainer, acl)
	case o.ttl > 0 && o.sequential:
		return conn.CreateTTL(path, data, zk.FlagPersistentSequentialWithTTL, acl, time.Duration(o.ttl)*time.Millisecond)
	case o.ttl > 0:
		return conn.CreateTTL(path, data, zk.FlagTTL, acl, time.Duration(o.ttl)*time.Millisecond)
	}
	var flags int32
	if o.ephemeral {
		flags |= zk.FlagEphemeral
	}
	if o.sequential {
		flags |= zk.FlagSequence
	}
	return conn.Create(path, data, flags, acl)
}

func set(o options, arguments []string) (action, error) {
	return func(conn *zk.Conn) ([]string, error) {
		stat, err := conn.Set(arguments[0], []byte(arguments[1]), o.version)
		if err != nil {
			return nil, told("set", arguments[0], err)
		}
		return withStat(o, nil, stat), nil
	}, nil
}

func remove(o options, arguments []string) (action, error) {
	return func(conn *zk.Conn) ([]string, error) {
		return nil, told("delete", arguments[0], conn.Delete(arguments[0], o.version))
	}, nil
}

func removeAll(_ options, arguments []string) (action, error) {
	path := arguments[0]
	if path == "/" {
		return nil, errors.New("deleteall /: both clusters keep what they must agree on there")
	}
	return func(conn *zk.Conn) ([]string, error) {
		below, err := tree(conn, path)
		if err != nil {
			return nil, told("deleteall", path, err)
		}
		for _, each := range slices.Backward(below) { // children first
			if err := conn.Delete(each, -1); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return nil, told("deleteall", each, err)
			}
		}
		return nil, nil
	}, nil
}

func getACL(o options, arguments []string) (action, error) {
	return func(conn *zk.Conn) (output []string, err error) {
		acl, stat, err := conn.GetACL(arguments[0])
		if err != nil {
			return nil, told("getAcl", arguments[0], err)
		}
		for _, entry := range acl {
			letters := ""
			for _, p := range permissions {
				if entry.Perms&p.bit != 0 {
					letters += string(p.letter)
				}
			}
			output = append(output, fmt.Sprintf("'%s,'%s", entry.Scheme, entry.ID), ": "+letters)
		}
		return withStat(o, output, stat), nil
	}, nil
}

func setACL(o options, arguments []string) (action, error) {
	acl, err := parseACL(arguments[1])
	if err != nil {
		return nil, fmt.Errorf("setAcl %s: %w", arguments[0], err)
	}
	return func(conn *zk.Conn) ([]string, error) {
		stat, err := conn.SetACL(arguments[0], acl, o.version)
		if err != nil {
			return nil, told("setAcl", arguments[0], err)
		}
		return withStat(o, nil, stat), nil
	}, nil
}

func addAuth(_ options, arguments []string) (action, error) {
	return func(conn *zk.Conn) ([]string, error) {
		return nil, told("addauth", arguments[0], conn.AddAuth(arguments[0], []byte(arguments[1])))
	}, nil
}

func sync(_ options, arguments []string) (action, error) {
	return func(conn *zk.Conn) ([]string, error) {
		_, err := conn.Sync(arguments[0])
		return nil, told("sync", arguments[0], err)
	}, nil
}

func quit(options, []string) (action, error) {
	return func(*zk.Conn) ([]string, error) { return nil, errQuit }, nil
}

// reasons are a server's errors, and what they mean here.
var reasons = []struct {
	err error
	why string
}{
	{zk.ErrNoNode, "there is no such znode"},
	{zk.ErrNodeExists, "there is such a znode already"},
	{zk.ErrBadVersion, "the znode has another version by now; stat tells which"},
	{zk.ErrNotEmpty, "the znode has children; deleteall takes them too"},
	{zk.ErrNoChildrenForEphemerals, "an ephemeral znode has no children"},
	{zk.ErrNoAuth, "its ACL does not allow that; getAcl tells it"},
	{zk.ErrInvalidACL, "the server does not take this ACL"},
	{zk.ErrNoServer, "no server lets a client in: none runs at the address of --server, or they are without a majority. The next command tries again"},
	{zk.ErrConnectionClosed, "the connection was lost before the answer came: it may have been done, or not"},
	{zk.ErrSessionExpired, "the session has expired; the next command begins a new one"},
}

// told says what was being done, to which znode, and why it failed.
func told(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	for _, reason := range reasons {
		if errors.Is(err, reason.err) {
			if reason.err == zk.ErrNoNode && doing == "create" {
				return fmt.Errorf("create %s: its parent is not there", path)
			}
			return fmt.Errorf("%s %s: %s", doing, path, reason.why)
		}
	}
	return fmt.Errorf("%s %s: %w", doing, path, err)
}

func withStat(o options, output []string, stat *zk.Stat) []string {
	if o.stat {
		return append(output, described(stat)...)
	}
	return output
}

// described is a stat in the lines of zkCli.
func described(stat *zk.Stat) []string {
	at := func(ms int64) string { return time.UnixMilli(ms).Format("Mon Jan 02 15:04:05 MST 2006") }
	return []string{
		fmt.Sprintf("cZxid = %#x", stat.Czxid), "ctime = " + at(stat.Ctime),
		fmt.Sprintf("mZxid = %#x", stat.Mzxid), "mtime = " + at(stat.Mtime),
		fmt.Sprintf("pZxid = %#x", stat.Pzxid), fmt.Sprintf("cversion = %d", stat.Cversion),
		fmt.Sprintf("dataVersion = %d", stat.Version), fmt.Sprintf("aclVersion = %d", stat.Aversion),
		fmt.Sprintf("ephemeralOwner = %#x", stat.EphemeralOwner), fmt.Sprintf("dataLength = %d", stat.DataLength),
		fmt.Sprintf("numChildren = %d", stat.NumChildren),
	}
}
