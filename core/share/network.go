package share

import (
	"hash/fnv"
	"net/netip"
	"strconv"
)

const (
	// networkBits is the length of the prefix of an IPv6 address that its holder cannot change.
	networkBits = 64
	// aroundBits and aroundBits4 are the lengths of the prefixes that many holders of a flood share.
	aroundBits, aroundBits4 = 48, 24
	// aroundParts is how many times as much as a network the networks around it may do.
	aroundParts = 16
)

// Network is the key by which attempts are counted: an IPv4 address, or the /64 of an IPv6 address.
func Network(address string) string {
	return prefix(address, 32, networkBits)
}

// Around is the key by which attempts of the networks around an address are counted together, because one can have all
// of them: those of its /24, or of the /48 of an IPv6 address. There are several keys for them, so that all of them
// together may do several times as much as one network.
func Around(address string) string {
	part := fnv.New32a()
	_, _ = part.Write([]byte(Network(address))) // It never fails.
	return prefix(address, aroundBits4, aroundBits) + " " + strconv.Itoa(int(part.Sum32()%aroundParts))
}

func prefix(address string, bits4, bits6 int) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	bits := bits6
	if parsed.Is4() {
		if bits = bits4; bits == parsed.BitLen() {
			return parsed.String()
		}
	}
	return netip.PrefixFrom(parsed, bits).Masked().String()
}
