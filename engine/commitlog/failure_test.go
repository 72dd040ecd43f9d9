package commitlog

import (
	"errors"
	"testing"

	"twinlog/engine/disk"
)

// TestAFailedSyncEndsTheLog: after it nobody knows what is on the disk, so nothing more is acknowledged until the log is opened again.
func TestAFailedSyncEndsTheLog(t *testing.T) {
	faults := disk.NewFaults(disk.NewMemory())
	log, err := Open(faults, "log", testFraming{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	appendFrames(t, log, 3, 10)
	faults.Set(disk.Fault{FailSync: errors.New("the drive says no")})
	if err := log.Sync(); err == nil {
		t.Fatal("the sync succeeded")
	}
	faults.Set(disk.Fault{})
	if _, err := log.Append(makeFrame(3, 1, 10, 0)); !errors.Is(err, ErrFailed) {
		t.Errorf("append after a failed sync: %v", err)
	}
	if err := log.Sync(); !errors.Is(err, ErrFailed) {
		t.Errorf("sync after a failed sync: %v", err)
	}
	if log.Synced() != 0 {
		t.Errorf("synced is %d", log.Synced())
	}
}

// TestAFullDiskLeavesTheLogAsItWas: the append fails, and works again once there is room.
func TestAFullDiskLeavesTheLogAsItWas(t *testing.T) {
	faults := disk.NewFaults(disk.NewMemory())
	log, err := Open(faults, "log", testFraming{}, Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Abandon()
	appendFrames(t, log, 3, 10)
	faults.Set(disk.Fault{Full: true})
	if _, err := log.Append(makeFrame(3, 1, 1000, 0)); err == nil || log.Next() != 3 {
		t.Fatalf("append to a full disk: %v, next is %d", err, log.Next())
	}
	faults.Set(disk.Fault{})
	appendFrames(t, log, 1, 1000)
}
