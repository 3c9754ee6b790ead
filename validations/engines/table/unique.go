package table

import (
	"hash/maphash"
)

// Hashes are kept in many small tables, so that growing one copies little. A map of Go would be simpler and take 36 MiB
// for a million values, where these take 21 MiB.
const (
	shards         = 256
	firstSlots     = 16
	slotBytes      = 12
	maxLoadPercent = 75
)

// uniqueness shares one budget of memory among all that must be unique in a table.
type uniqueness struct {
	seed maphash.Seed
	left int64
}

// seen holds the values of one column or key, and the row in which each stood first. Values are known by hashes of 64
// bits with a secret seed: a false duplicate among a million values has a chance of one in thirty million.
type seen struct {
	shared *uniqueness
	shards [shards]shard
	// stopped says that the memory was spent and later values are not compared.
	stopped bool
}

// shard is a hash table with linear probing. A hash of 0 is a free slot.
type shard struct {
	hashes []uint64
	rows   []uint32
	used   int
}

func newUniqueness(limit int64) *uniqueness {
	return &uniqueness{seed: maphash.MakeSeed(), left: limit}
}

func (u *uniqueness) newSeen() *seen {
	return &seen{shared: u}
}

// take takes memory from the budget, or answers that too little is left.
func (u *uniqueness) take(bytes int64) bool {
	if u.left < bytes {
		return false
	}
	u.left -= bytes
	return true
}

// has reports whether the value was seen.
func (s *seen) has(key []byte) bool {
	hash := max(1, maphash.Bytes(s.shared.seed, key))
	target := &s.shards[hash%shards]
	return len(target.hashes) > 0 && target.hashes[target.find(hash)] == hash
}

// first returns the row of the same value before, 0 where there was none. It answers false once, for the value at
// which the memory is spent.
func (s *seen) first(key []byte, row int) (int, bool) {
	if s.stopped {
		return 0, true
	}
	hash := max(1, maphash.Bytes(s.shared.seed, key))
	target := &s.shards[hash%shards]
	if target.used*100 >= len(target.hashes)*maxLoadPercent && !s.grow(target) {
		s.stopped = true
		return 0, false
	}
	slot := target.find(hash)
	if target.hashes[slot] == hash {
		return int(target.rows[slot]), true
	}
	target.used++
	target.hashes[slot] = hash
	target.rows[slot] = uint32(row) //nolint:gosec // tables have far fewer rows
	return 0, true
}

func (s *seen) grow(target *shard) bool {
	size := max(firstSlots, len(target.hashes)*3/2)
	cost := int64(size-len(target.hashes)) * slotBytes
	if !s.shared.take(cost) {
		return false
	}
	old := *target
	*target = shard{hashes: make([]uint64, size), rows: make([]uint32, size), used: old.used}
	for i, hash := range old.hashes {
		if hash != 0 {
			slot := target.find(hash)
			target.hashes[slot], target.rows[slot] = hash, old.rows[i]
		}
	}
	return true
}

// find returns the slot of a hash, or the free one where it belongs.
func (t *shard) find(hash uint64) uint64 {
	size := uint64(len(t.hashes))
	slot := hash / shards % size
	for t.hashes[slot] != 0 && t.hashes[slot] != hash {
		slot = (slot + 1) % size
	}
	return slot
}
