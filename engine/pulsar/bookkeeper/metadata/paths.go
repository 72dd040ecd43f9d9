package metadata

import (
	"fmt"
	"strconv"
	"strings"
)

// Where BookKeeper keeps its things.
const (
	LedgersRoot  = "/ledgers"
	layoutPath   = LedgersRoot + "/LAYOUT"
	instancePath = LedgersRoot + "/INSTANCEID"
	// AvailablePath has one ephemeral child per bookie that takes adds; its child "readonly" those that only serve reads.
	AvailablePath    = LedgersRoot + "/available"
	readOnlyPath     = AvailablePath + "/readonly"
	cookiesPath      = LedgersRoot + "/cookies"
	idGeneratorPath  = LedgersRoot + "/idgen"
	underreplication = LedgersRoot + "/underreplication"

	layout                 = "2\norg.apache.bookkeeper.meta.HierarchicalLedgerManagerFactory:1"
	underreplicationLayout = "type: \"BASIC\"\nversion: 1\n"
)

// LedgerPath is the znode of a ledger: ten digits, split 2-4-4 (ledger 5 is /ledgers/00/0000/L0005); ids that need more than 31 bits
// have nineteen, split 3-4-4-4-4.
func LedgerPath(ledger int64) string {
	if ledger <= 1<<31-1 {
		d := fmt.Sprintf("%010d", ledger)
		return LedgersRoot + "/" + d[:2] + "/" + d[2:6] + "/L" + d[6:]
	}
	d := fmt.Sprintf("%019d", ledger)
	return LedgersRoot + "/" + d[:3] + "/" + d[3:7] + "/" + d[7:11] + "/" + d[11:15] + "/L" + d[15:]
}

// ledgerOfPath is the inverse of LedgerPath; digits are the path below the root without slashes and the L.
func ledgerOfPath(path string) (int64, bool) {
	digits := strings.NewReplacer("/", "", "L", "").Replace(strings.TrimPrefix(path, LedgersRoot))
	ledger, err := strconv.ParseInt(digits, 10, 64)
	return ledger, err == nil && LedgerPath(ledger) == path
}

// BookiePath is the ephemeral znode of a bookie that takes adds.
func BookiePath(bookie string) string { return AvailablePath + "/" + bookie }

// ReadOnlyBookiePath is the ephemeral znode of a bookie that only serves reads.
func ReadOnlyBookiePath(bookie string) string { return readOnlyPath + "/" + bookie }

// CookiePath is the znode that ties a bookie's name to its disk.
func CookiePath(bookie string) string { return cookiesPath + "/" + bookie }
