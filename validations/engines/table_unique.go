package engines

import (
	"encoding/binary"
	"hash/maphash"
)

// seenEntryBytes is what remembering one value costs in memory, the map's slack included.
const seenEntryBytes = 28

// fingerprint stands for a value. Its 96 bits with secret seeds make a false duplicate among millions of values as
// unlikely as broken hardware.
type fingerprint [12]byte

// uniqueness shares one budget of memory among all that must be unique in a table.
type uniqueness struct {
	seeds [2]maphash.Seed
	left  int64
}

// seen remembers the values of one column or key, and the line on which each stood first.
type seen struct {
	shared *uniqueness
	lines  map[fingerprint]uint32
	// stopped says that the memory was spent and later values are not compared.
	stopped bool
}

func newUniqueness(limit int64) *uniqueness {
	return &uniqueness{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}, left: limit}
}

func (u *uniqueness) newSeen() *seen {
	return &seen{shared: u, lines: map[fingerprint]uint32{}}
}

// first returns the line of the same value before, 0 where there was none. It answers false once, for the value at
// which the memory is spent.
func (s *seen) first(key []byte, line int) (int, bool) {
	if s.stopped {
		return 0, true
	}
	f := s.shared.fingerprint(key)
	if before, known := s.lines[f]; known {
		return int(before), true
	}
	if s.shared.left < seenEntryBytes {
		s.stopped = true
		return 0, false
	}
	s.shared.left -= seenEntryBytes
	s.lines[f] = uint32(line) //nolint:gosec // tables have far fewer lines
	return 0, true
}

func (u *uniqueness) fingerprint(key []byte) fingerprint {
	var f fingerprint
	binary.LittleEndian.PutUint64(f[:8], maphash.Bytes(u.seeds[0], key))
	binary.LittleEndian.PutUint32(f[8:], uint32(maphash.Bytes(u.seeds[1], key))) //nolint:gosec // half of it will do
	return f
}
