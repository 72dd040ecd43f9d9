package server

import (
	"testing"

	"twinlog/engine/ensemble/tree"
)

func TestAStatIsToldAsZkCliPrintsIt(t *testing.T) {
	got := shownStat(tree.Stat{Czxid: 0x2000000a4, Mzxid: 0x2000000a5, Pzxid: 1, Ctime: 1796046814704, Version: 2, EphemeralOwner: 0x2a22c8f35460003, DataLength: 80})
	want := ZnodeStat{Czxid: "0x2000000a4", Mzxid: "0x2000000a5", Pzxid: "0x1", Ctime: "2026-11-30T13:53:34.704Z", Mtime: "1970-01-01T00:00:00.000Z", Version: 2, EphemeralOwner: "0x2a22c8f35460003", DataLength: 80}
	if got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
	if text := aclText([]tree.ACL{{Permissions: 31, ID: tree.ID{Scheme: "world", ID: "anyone"}}}); text != "world:anyone:rwcda" {
		t.Errorf("the open ACL is told as %q", text)
	}
}
