package attach

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"syscall"
	"time"

	"twinlog/engine/cluster"
	"twinlog/engine/disk"
	"twinlog/engine/sentence"
)

// DiskRule is a disk.Fault as JSON.
type DiskRule struct {
	Delay    time.Duration `json:"delayNS"`
	Full     bool          `json:"full"`
	FailSync bool          `json:"failSync"`
}

func diskRuleOf(fault disk.Fault) DiskRule {
	return DiskRule{Delay: fault.Delay, Full: fault.Full, FailSync: fault.FailSync != nil}
}

func (r DiskRule) fault() disk.Fault {
	fault := disk.Fault{Delay: r.Delay, Full: r.Full}
	if r.FailSync {
		fault.FailSync = syscall.EIO
	}
	return fault
}

func (a *Agent) routeDisk(routes *http.ServeMux) {
	slot := a.config.Slot
	routes.HandleFunc("PUT /disk", func(w http.ResponseWriter, r *http.Request) {
		var rule DiskRule
		if !readOrder(w, r, &rule) {
			return
		}
		if err := slot.SetDisk(rule.fault()); err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, a.report())
	})
	routes.HandleFunc("GET /files", func(w http.ResponseWriter, _ *http.Request) {
		files, err := slot.Files()
		if err != nil {
			refuse(w, err)
			return
		}
		answer(w, http.StatusOK, files)
	})
	routes.HandleFunc("POST /corrupt", func(w http.ResponseWriter, r *http.Request) {
		var corruption cluster.Corruption
		if !readOrder(w, r, &corruption) {
			return
		}
		if err := slot.Corrupt(r.Context(), corruption); err != nil {
			refuse(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// readOrder reads a request's body, or answers that it cannot.
func readOrder(w http.ResponseWriter, r *http.Request, order any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(order); err != nil {
		answer(w, http.StatusBadRequest, Problem{Code: codeInvalid, Message: "the order cannot be read: " + err.Error()})
		return false
	}
	return true
}

// Crash implements [cluster.Control].
func (r *Remote) Crash(ctx context.Context, node string) error { return r.order(ctx, node, "crash") }

// Disks implements [cluster.Control].
func (r *Remote) Disks() []cluster.DiskRule {
	r.mu.Lock()
	defer r.mu.Unlock()
	var rules []cluster.DiskRule
	for _, name := range slices.Sorted(maps.Keys(r.agents)) {
		if rule := r.agents[name].disk; rule != (DiskRule{}) {
			rules = append(rules, cluster.DiskRule{Node: name, Fault: rule.fault()})
		}
	}
	return rules
}

// SetDisk implements [cluster.Control].
func (r *Remote) SetDisk(ctx context.Context, node string, fault disk.Fault) error {
	a, err := r.find(node)
	if err != nil {
		return err
	}
	var report Report
	if err := a.call(ctx, http.MethodPut, "/disk", diskRuleOf(fault), &report); err != nil {
		return sentence.Error(nil, "diskOf", "the disk of {node}: {why}", node, err)
	}
	a.told(report)
	return nil
}

// Files implements [cluster.Control].
func (r *Remote) Files(ctx context.Context, node string) ([]cluster.StoredFile, error) {
	a, err := r.find(node)
	if err != nil {
		return nil, err
	}
	var files []cluster.StoredFile
	if err := a.call(ctx, http.MethodGet, "/files", nil, &files); err != nil {
		return nil, sentence.Error(nil, "filesOf", "the files of {node}: {why}", node, err)
	}
	return files, nil
}

// Corrupt implements [cluster.Control].
func (r *Remote) Corrupt(ctx context.Context, corruption cluster.Corruption) error {
	a, err := r.find(corruption.Node)
	if err != nil {
		return err
	}
	return a.call(ctx, http.MethodPost, "/corrupt", corruption, nil)
}

// Add implements [cluster.Control]. A container is started from outside.
func (r *Remote) Add(_ context.Context, role string) (cluster.NodeStatus, error) {
	return cluster.NodeStatus{}, sentence.Error(cluster.ErrRefused, "addContainer", "cannot add a node of role {role}: each node is a container of its own here. "+
		"Give docker-compose.yml one more service like the others of its role, with the next number in --id, and run: docker compose up -d", role)
}

// Remove implements [cluster.Control].
func (r *Remote) Remove(_ context.Context, node string) error {
	if _, err := r.find(node); err != nil {
		return err
	}
	return sentence.Error(cluster.ErrRefused, "removeContainer", "cannot remove {node}: each node is a container of its own here. "+
		"Run: docker compose rm --stop --volumes {node}", node)
}
