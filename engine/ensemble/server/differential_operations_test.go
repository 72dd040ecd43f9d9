//go:build oracle

package server_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"twinlog/engine/ensemble/jute"
	"twinlog/engine/ensemble/protocol"
)

func randomPath(random *rand.Rand) string {
	names := []string{"a", "b", "c"}
	path := ""
	for range 1 + random.IntN(3) {
		path += "/" + names[random.IntN(len(names))]
	}
	switch random.IntN(40) {
	case 0:
		return "/"
	case 1:
		return path + "/"
	case 2:
		return "/" + path
	case 3:
		return path + "/.."
	case 4:
		return "/zookeeper"
	case 5:
		return "/zookeeper/config"
	case 6:
		return "noslash"
	case 7:
		return path + "\x01"
	case 8:
		return path + "\x00"
	}
	return path
}

var persistentPaths = []string{"/", "/b", "/c/a", "/a/b/c"}

func randomVersion(random *rand.Rand) int32 { return int32(random.IntN(4) - 1) }

func randomData(random *rand.Rand) []byte {
	if random.IntN(5) == 0 {
		return nil
	}
	return []byte(fmt.Sprint("data ", random.IntN(100)))[:random.IntN(6)]
}

func randomOperation(random *rand.Rand) (protocol.Op, []byte, string) {
	path := randomPath(random)
	// In ZooKeeper 3.8 a one-shot watch takes the place of a persistent one of the same client and path (ZOOKEEPER-4466, mended in
	// 3.9): ours keeps both. So the paths of the two kinds are kept apart.
	watch := random.IntN(3) == 0 && !slices.Contains(persistentPaths, path)
	pathAndWatch := record(func(e *jute.Encoder) { e.String(path); e.Bool(watch) })
	text := fmt.Sprintf("%q watch %v", path, watch)
	switch n := random.IntN(100); {
	case n < 34:
		op, body, text := randomWrite(random, false)
		return op, body, text
	case n < 42:
		return protocol.OpExists, pathAndWatch, text
	case n < 50:
		return protocol.OpGetData, pathAndWatch, text
	case n < 56:
		return protocol.OpGetChildren2, pathAndWatch, text
	case n < 60:
		return protocol.OpGetChildren, pathAndWatch, text
	case n < 64:
		return protocol.OpGetACL, record(func(e *jute.Encoder) { e.String(path) }), text
	case n < 68:
		acl, version := acls[random.IntN(len(acls))], randomVersion(random)
		return protocol.OpSetACL, record(func(e *jute.Encoder) { e.String(path); protocol.AppendACL(e, acl); e.Int(version) }), fmt.Sprintf("%q %v version %d", path, acl, version)
	case n < 80:
		return randomMulti(random)
	case n < 84:
		return randomMultiRead(random)
	case n < 86:
		return protocol.OpGetAllChildrenNumber, record(func(e *jute.Encoder) { e.String(path) }), text
	case n < 88:
		return protocol.OpGetEphemerals, record(func(e *jute.Encoder) { e.String(path) }), text
	case n < 90:
		return protocol.OpSync, record(func(e *jute.Encoder) { e.String(path) }), text
	case n < 92:
		return protocol.OpAuth, record(func(e *jute.Encoder) { e.Int(0); e.String("digest"); e.Buffer([]byte("user:pass")) }), "user:pass"
	case n < 95:
		path = persistentPaths[random.IntN(len(persistentPaths))]
		return protocol.OpAddWatch, record(func(e *jute.Encoder) { e.String(path); e.Int(int32(random.IntN(2))) }), text
	case n < 97:
		return protocol.OpWhoAmI, nil, ""
	case n < 98:
		return protocol.OpCloseSession, nil, ""
	default:
		return protocol.OpRemoveWatches, record(func(e *jute.Encoder) { e.String(path); e.Int(3) }), text
	}
}

func randomWrite(random *rand.Rand, inMulti bool) (protocol.Op, []byte, string) {
	path, data, version := randomPath(random), randomData(random), randomVersion(random)
	acl := acls[random.IntN(len(acls))]
	if random.IntN(2) == 0 {
		acl = acls[0]
	}
	flags := []int32{0, 0, 0, 0, 1, 1, 2, 3, 4}[random.IntN(9)]
	create := func(op protocol.Op, flags int32) (protocol.Op, []byte, string) {
		return op, record(func(e *jute.Encoder) {
			e.String(path)
			e.Buffer(data)
			protocol.AppendACL(e, acl)
			e.Int(flags)
			if op == protocol.OpCreateTTL {
				e.Long(100_000)
			}
		}), fmt.Sprintf("%q %q %v flags %d", path, data, acl, flags)
	}
	switch n := random.IntN(100); {
	case n < 30:
		return create(protocol.OpCreate, flags)
	case n < 42:
		return create(protocol.OpCreate2, flags)
	case n < 45:
		return create(protocol.OpCreateContainer, 4)
	case n < 48:
		return create(protocol.OpCreateTTL, 5+int32(random.IntN(2)))
	case n < 50 && inMulti:
		return protocol.OpCheck, record(func(e *jute.Encoder) { e.String(path); e.Int(version) }), fmt.Sprintf("%q %d", path, version)
	case n < 75:
		return protocol.OpDelete, record(func(e *jute.Encoder) { e.String(path); e.Int(version) }), fmt.Sprintf("%q %d", path, version)
	}
	return protocol.OpSetData, record(func(e *jute.Encoder) { e.String(path); e.Buffer(data); e.Int(version) }), fmt.Sprintf("%q %q %d", path, data, version)
}

func multiHeader(e *jute.Encoder, op protocol.Op, done bool) {
	e.Int(int32(op))
	e.Bool(done)
	e.Int(-1)
}

func randomMulti(random *rand.Rand) (protocol.Op, []byte, string) {
	e, text := jute.NewEncoder(nil), ""
	for range random.IntN(5) {
		op, body, describe := randomWrite(random, true)
		multiHeader(e, op, false)
		e.Raw(body)
		text += fmt.Sprintf("\n  %v %s", op, describe)
	}
	multiHeader(e, -1, true)
	return protocol.OpMulti, e.Bytes(), text
}

func randomMultiRead(random *rand.Rand) (protocol.Op, []byte, string) {
	e, text := jute.NewEncoder(nil), ""
	for range 1 + random.IntN(4) {
		path := randomPath(random)
		op := []protocol.Op{protocol.OpGetData, protocol.OpGetChildren}[random.IntN(2)]
		multiHeader(e, op, false)
		e.String(path)
		e.Bool(false)
		text += fmt.Sprintf(" %v %q", op, path)
	}
	multiHeader(e, -1, true)
	return protocol.OpMultiRead, e.Bytes(), text
}
