package offloaded

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
)

// UID marks one attempt to offload a ledger. In a managed ledger's metadata it is two numbers (uidMsb and uidLsb).
type UID struct{ High, Low int64 }

// MakeUID makes one of 16 random bytes: a UUID of version 4.
func MakeUID(random [16]byte) UID {
	random[6] = random[6]&0x0f | 0x40
	random[8] = random[8]&0x3f | 0x80
	return UID{High: int64(binary.BigEndian.Uint64(random[:8])), Low: int64(binary.BigEndian.Uint64(random[8:]))}
}

// String is the notation of RFC 4122.
func (u UID) String() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(u.High))
	binary.BigEndian.PutUint64(b[8:], uint64(u.Low))
	text := hex.EncodeToString(b[:])
	return fmt.Sprintf("%s-%s-%s-%s-%s", text[:8], text[8:12], text[12:16], text[16:20], text[20:])
}

// Name says which attempt to offload which ledger of which managed ledger ("public/default/persistent/orders").
type Name struct {
	ManagedLedger string
	Ledger        int64
	UID           UID
}

// String is the name of the object with the data.
func (n Name) String() string {
	return n.ManagedLedger + "/" + n.UID.String() + "-ledger-" + strconv.FormatInt(n.Ledger, 10)
}

func (n Name) index() string { return n.String() + "-index" }
