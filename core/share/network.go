package share

import "net/netip"

// networkBits is the length of the prefix of an IPv6 address that its holder cannot change.
const networkBits = 64

// Network is the key by which attempts are counted: an IPv4 address, or the /64 of an IPv6 address.
func Network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, networkBits).Masked().String()
}
