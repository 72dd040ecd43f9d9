//go:build !linux

package managedledger

// mapArena returns memory of the Go heap where mapped memory is not used.
func mapArena(size int) []byte { return make([]byte, size) }

func unmapArena([]byte) {}
