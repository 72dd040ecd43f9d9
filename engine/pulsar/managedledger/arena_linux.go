package managedledger

import "golang.org/x/sys/unix"

// mapArena returns memory outside the Go heap; pages that were never written cost nothing. Nil when there is none.
func mapArena(size int) []byte {
	arena, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil
	}
	return arena
}

// unmapArena gives it back; nobody may touch it afterwards.
func unmapArena(arena []byte) { _ = unix.Munmap(arena) }
