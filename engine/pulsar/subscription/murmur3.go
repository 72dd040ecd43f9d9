package subscription

import (
	"encoding/binary"
	"math/bits"
)

// HashSpace is the number of slots that a key's hash falls into.
const HashSpace = 1 << 16

// KeyHash is the slot of a message key: MurmurHash3 (x86, 32 bits, seed 0) without its sign bit, modulo the hash space.
func KeyHash(key []byte) uint16 {
	return uint16(murmur(key) & 0x7fffffff % HashSpace)
}

func murmur(data []byte) uint32 {
	const c1, c2 = 0xcc9e2d51, 0x1b873593
	length := uint32(len(data))
	var hash uint32
	for ; len(data) >= 4; data = data[4:] {
		block := bits.RotateLeft32(binary.LittleEndian.Uint32(data)*c1, 15) * c2
		hash = bits.RotateLeft32(hash^block, 13)*5 + 0xe6546b64
	}
	var tail uint32
	for i := len(data) - 1; i >= 0; i-- {
		tail = tail<<8 | uint32(data[i])
	}
	if len(data) > 0 {
		hash ^= bits.RotateLeft32(tail*c1, 15) * c2
	}
	hash ^= length
	hash = (hash ^ hash>>16) * 0x85ebca6b
	hash = (hash ^ hash>>13) * 0xc2b2ae35
	return hash ^ hash>>16
}
