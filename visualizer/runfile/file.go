package runfile

import (
	"time"
	"unicode/utf8"

	"twinlog/engine/sentence"
)

// Version is the version of the format that is written, and the newest that can be read.
const Version = 1

const formatName = "twinlog-run"

// Extension is what the files' names end in.
const Extension = ".twinlog.gz"

// Header is the file's first line.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Name is the run's name where it was recorded.
	Name      string    `json:"name"`
	Title     string    `json:"title,omitempty"`
	StartedAt time.Time `json:"startedAt"`
}

// trailer is the last line.
type trailer struct {
	Records uint64 `json:"records"`
	SHA256  string `json:"sha256"` // hexadecimal
}

// Limits bound what a file may make its reader take.
type Limits struct {
	Line     int   // bytes of one line
	Unpacked int64 // bytes of all lines together
	Packed   int64 // bytes that are kept of it
	Records  uint64
	Title    int // bytes of a name or a title
}

// LongestTitle is the longest title that a run is given, in characters.
const LongestTitle = 80

// DefaultLimits: a lesson of some hours. Packed is what a reader holds in memory.
var DefaultLimits = Limits{Line: 1 << 20, Unpacked: 2 << 30, Packed: 96 << 20, Records: 5_000_000, Title: utf8.UTFMax * LongestTitle}

// Errors of reading. Each is told with the place.
var (
	ErrNotARun  = sentence.Error(nil, "notARun", "this is no run recorded by twinlog")
	ErrNewer    = sentence.Error(nil, "newerRun", "this file was written by a newer twinlog")
	ErrDamaged  = sentence.Error(nil, "damagedRun", "the file is damaged")
	ErrTooLarge = sentence.Error(nil, "runTooLarge", "the file holds more than can be opened")
)
