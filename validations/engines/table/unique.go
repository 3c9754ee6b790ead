package table

import (
	"hash/maphash"
)

// Values are remembered in many small tables, so that one can grow without a copy of all being in memory.
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

// seen remembers the values of one column or key, and the line on which each stood first. Values are known by hashes
// of 64 bits with a secret seed, beside the 8 bits that choose the shard: a false duplicate among a million values has
// a chance of one in ten thousand millions.
type seen struct {
	shared *uniqueness
	shards [shards]shard
	// stopped says that the memory was spent and later values are not compared.
	stopped bool
}

// shard is a hash table with linear probing. A hash of 0 is a free slot.
type shard struct {
	hashes []uint64
	lines  []uint32
	used   int
}

func newUniqueness(limit int64) *uniqueness {
	return &uniqueness{seed: maphash.MakeSeed(), left: limit}
}

func (u *uniqueness) newSeen() *seen {
	return &seen{shared: u}
}

// first returns the line of the same value before, 0 where there was none. It answers false once, for the value at
// which the memory is spent.
func (s *seen) first(key []byte, line int) (int, bool) {
	if s.stopped {
		return 0, true
	}
	hash := max(1, maphash.Bytes(s.shared.seed, key))
	target := &s.shards[s.shared.shardOf(key)]
	if target.used*100 >= len(target.hashes)*maxLoadPercent && !s.grow(target) {
		s.stopped = true
		return 0, false
	}
	slot := target.find(hash)
	if target.hashes[slot] == hash {
		return int(target.lines[slot]), true
	}
	target.used++
	target.hashes[slot] = hash
	target.lines[slot] = uint32(line) //nolint:gosec // tables have far fewer lines
	return 0, true
}

// shardOf uses a hash of its own, so that the shard adds to what tells values apart.
func (u *uniqueness) shardOf(key []byte) uint64 {
	const prime, offset = 1099511628211, 14695981039346656037
	hash := uint64(offset)
	for _, b := range key {
		hash = (hash ^ uint64(b)) * prime
	}
	return (hash >> 32) % shards
}

func (s *seen) grow(target *shard) bool {
	size := max(firstSlots, len(target.hashes)*3/2)
	cost := int64(size-len(target.hashes)) * slotBytes
	if s.shared.left < cost {
		return false
	}
	s.shared.left -= cost
	old := *target
	*target = shard{hashes: make([]uint64, size), lines: make([]uint32, size), used: old.used}
	for i, hash := range old.hashes {
		if hash != 0 {
			slot := target.find(hash)
			target.hashes[slot], target.lines[slot] = hash, old.lines[i]
		}
	}
	return true
}

// find returns the slot of a hash, or the free one where it belongs.
func (t *shard) find(hash uint64) uint64 {
	size := uint64(len(t.hashes))
	slot := hash % size
	for t.hashes[slot] != 0 && t.hashes[slot] != hash {
		slot = (slot + 1) % size
	}
	return slot
}
