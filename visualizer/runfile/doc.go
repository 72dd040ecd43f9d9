// Package runfile is a recorded run as one file, to be handed on and opened at any twinlog.
//
// The file is JSON lines, compressed with gzip:
//
//	{"format":"twinlog-run","version":1,"name":"20260309T081500.000-4711","title":"Controller election","startedAt":"2026-03-09T08:15:00Z"}
//	{"n":1,"run":"…","node":"ensemble-1","seq":1,"at":"…","kind":"node.started","data":{…}}      the records, n going up
//	{"n":2, …
//	{"records":20590,"sha256":"9f86d081…"}                                                        of the record lines, each with its newline
//
// Where n leaves numbers out, the run has a hole: the process that recorded it could not keep up. The last line makes a file that was
// cut off or changed tell so. A reader takes nothing on trust: each line, the whole, and what it keeps of it have bounds (see Limits),
// and every record is decoded and written anew, so that what is stored is what this program would have written.
package runfile
