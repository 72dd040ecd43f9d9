package server

import (
	"runtime/debug"
	"testing"
)

func TestTheVersionTellsTheCommitsTime(t *testing.T) {
	built := &debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs", Value: "git"}, {Key: "vcs.time", Value: "2026-03-04T07:06:05+02:00"}}}
	if got, want := versionOf(built, true), "3.8.0-twinlog, built on 03/04/2026 05:06 GMT"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := versionOf(nil, false), "3.8.0-twinlog, built on 01/01/1970 00:00 GMT"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
