package visualizer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gin-gonic/gin"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/sentence"
	"twinlog/visualizer/wire"
)

// maxDiskDelayMS bounds how slow a disk can be made: slower is what pause is for.
const maxDiskDelayMS = 60_000

// mostDiskFiles bounds the list of a disk's files.
const mostDiskFiles = 200

func (s *Server) diskTable() []route {
	return []route{
		{method: "GET", path: "/disks", about: "What is wrong with each node's disk", handle: s.getDisks, status: 200, answer: wire.Disks{}},
		{method: "GET", path: "/disks/:node", about: "What is wrong with a node's disk, and the files on it", handle: s.getDisk, status: 200,
			answer: wire.DiskFiles{}, problems: []int{404}},
		{method: "PUT", path: "/disks/:node", about: "Makes a node's disk slow, full or fail at each sync; without a fault it heals it", handle: s.putDisk,
			body: wire.DiskFault{}, status: 200, answer: wire.Disk{}, problems: []int{404}},
		{method: "POST", path: "/disks/:node/corrupt", about: "Turns over one bit of a node's file behind its back", handle: s.postCorrupt,
			body: wire.Corrupt{}, status: 200, answer: cluster.Corruption{}, problems: []int{404}},
	}
}

func (s *Server) disks() []wire.Disk {
	faults := map[string]disk.Fault{}
	for _, rule := range s.config.Control.Disks() {
		faults[rule.Node] = rule.Fault
	}
	disks := []wire.Disk{}
	for _, node := range s.config.Control.Nodes() {
		fault := faults[node.Name]
		disks = append(disks, wire.Disk{Node: node.Name, DelayMS: fault.Delay.Milliseconds(), Full: fault.Full, FailSync: fault.FailSync != nil})
	}
	return disks
}

func (s *Server) diskOf(name string) (wire.Disk, bool) {
	disks := s.disks()
	at := slices.IndexFunc(disks, func(disk wire.Disk) bool { return disk.Node == name })
	if at < 0 {
		return wire.Disk{}, false
	}
	return disks[at], true
}

func (s *Server) getDisks(c *gin.Context) { c.JSON(http.StatusOK, wire.Disks{Disks: s.disks()}) }

func (s *Server) getDisk(c *gin.Context) {
	ctx, cancel := acting(c)
	defer cancel()
	files, err := s.config.Control.Files(ctx, c.Param("node"))
	if err != nil {
		refuseError(c, err)
		return
	}
	found, _ := s.diskOf(c.Param("node"))
	c.JSON(http.StatusOK, wire.DiskFiles{Disk: found, Files: files[:min(len(files), mostDiskFiles)]})
}

func (s *Server) putDisk(c *gin.Context) {
	var fault wire.DiskFault
	if !readBody(c, &fault) {
		return
	}
	if fault.DelayMS < 0 || fault.DelayMS > maxDiskDelayMS {
		refuse(c, http.StatusBadRequest, "badRequest", sentence.Of("notADiskDelay", "delayMS is 0 to {most}, not {given}", maxDiskDelayMS, fault.DelayMS))
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	rule := disk.Fault{Delay: time.Duration(fault.DelayMS) * time.Millisecond, Full: fault.Full}
	if fault.FailSync {
		rule.FailSync = syscall.EIO
	}
	if err := s.config.Control.SetDisk(ctx, c.Param("node"), rule); err != nil {
		refuseError(c, err)
		return
	}
	answer, _ := s.diskOf(c.Param("node"))
	c.JSON(http.StatusOK, answer)
}

func (s *Server) postCorrupt(c *gin.Context) {
	var asked wire.Corrupt
	if !readBody(c, &asked) {
		return
	}
	ctx, cancel := acting(c)
	defer cancel()
	corruption, err := s.chooseCorruption(ctx, c.Param("node"), asked)
	if err == nil {
		err = s.config.Control.Corrupt(ctx, corruption)
	}
	if err != nil {
		refuseError(c, err)
		return
	}
	c.JSON(http.StatusOK, corruption)
}

// frames are the files whose frames carry checksums, by role: segments of partitions, of a bookie's ledgers, of the ensemble's log.
var frames = map[string]*regexp.Regexp{
	"kafka":    regexp.MustCompile(`(^|/)[^/]+-\d+/\d{20}\.log$`),
	"bookie":   regexp.MustCompile(`(^|/)(entries|ledgers|entrylog)[^/]*/.*\.log$`),
	"ensemble": regexp.MustCompile(`\.log$`),
}

// chooseCorruption fills in what was left open.
func (s *Server) chooseCorruption(ctx context.Context, name string, asked wire.Corrupt) (cluster.Corruption, error) {
	node, known := s.node(name)
	if !known {
		return cluster.Corruption{}, sentence.Error(cluster.ErrUnknownNode, "noSuchNode", `there is no node "{node}"`, name)
	}
	files, err := s.config.Control.Files(ctx, name)
	if err != nil {
		return cluster.Corruption{}, err
	}
	wanted := func(file cluster.StoredFile) bool {
		switch {
		case asked.File != "":
			return file.Name == asked.File
		case asked.Topic != "":
			return strings.Contains("/"+file.Name, fmt.Sprintf("/%s-%d/", asked.Topic, asked.Partition)) && frames["kafka"].MatchString(file.Name)
		}
		pattern := frames[node.Role]
		return pattern != nil && pattern.MatchString(file.Name) && !strings.Contains(file.Name, "__consumer_offsets")
	}
	at := slices.IndexFunc(files, wanted)
	if at < 0 {
		if what := cmp.Or(asked.File, asked.Topic); what != "" {
			return cluster.Corruption{}, sentence.Error(cluster.ErrInvalid, "noFileWith", `{node} has no file with "{what}"; GET disks/{node} lists its files`, name, what)
		}
		return cluster.Corruption{}, sentence.Error(cluster.ErrInvalid, "noFileWithFrames", "{node} has no file with stored frames yet", name)
	}
	corruption := cluster.Corruption{Node: name, File: files[at].Name, Offset: files[at].Bytes / 2, Bit: asked.Bit}
	if asked.Offset != nil {
		corruption.Offset = *asked.Offset
	}
	return corruption, nil
}
