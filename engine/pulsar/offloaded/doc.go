// Package offloaded is a sealed ledger on a medium: how its entries lie there, and how they are written and read back. It decides nothing;
// which ledgers are offloaded, and when bookies may drop theirs, is said in package managedledger.
//
// As in Pulsar's tiered storage (PIP-17), a ledger is two objects. The data has the entries in order; the index says where its blocks
// begin, so that an entry is read by one ranged read. The index is put last: a ledger with an index is whole. Their names hold a UID that
// is new with each attempt, so that the rests of an attempt that broke off are known, and can be removed, by that UID alone.
//
//	public/default/persistent/orders/7d444840-9dc0-41d1-b245-5ffdce74fad2-ledger-12          the data
//	public/default/persistent/orders/7d444840-9dc0-41d1-b245-5ffdce74fad2-ledger-12-index    the index
//
// All numbers are big-endian. Checksums are CRC-32C; those of entries begin with the ledger's id, so that no entry of another ledger is
// taken for one of this.
//
//	data:   ┌──────────────┬───────────┬─────────┬────────────┬─────────────┬─────────────┐
//	        │ magic "TLOD" │ version 2 │ zero  2 │ ledger   8 │ entries   8 │ checksum  4 │  of the 24 bytes before it
//	        └──────────────┴───────────┴─────────┴────────────┴─────────────┴─────────────┘
//	        and then each entry:
//	        ┌────────────┬────────────┬─────────────┬──────────────────────┐
//	        │ length   4 │ entry    8 │ checksum  4 │ payload       length │  the checksum is of ledger, length, entry, payload
//	        └────────────┴────────────┴─────────────┴──────────────────────┘
//
//	index:  ┌──────────────┬───────────┬─────────┬────────────┬─────────────┬─────────────┬─────────────┬─────────────┐
//	        │ magic "TLOI" │ version 2 │ zero  2 │ ledger   8 │ entries   8 │ bytes     8 │ data size 8 │ blocks    4 │
//	        └──────────────┴───────────┴─────────┴────────────┴─────────────┴─────────────┴─────────────┴─────────────┘
//	        and then each block, a run of whole entries of 64 KiB or a little more:
//	        ┌────────────────┬────────────────────┐
//	        │ first entry  8 │ offset in data   8 │
//	        └────────────────┴────────────────────┘
//	        and a checksum (4) of all of that.
package offloaded
