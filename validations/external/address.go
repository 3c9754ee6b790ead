package external

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"syscall"
)

// ErrAddress means that the policy forbids the validator's address.
var ErrAddress = errors.New("the address is not allowed")

const (
	portHTTPS     = 443
	firstFreePort = 1024
)

// Policy protects the internal network against server-side request forgery (SSRF). It permits public addresses and the
// networks that the operator allows. It checks the address that is dialed, for every connection, so neither the
// spelling of an address nor a changed DNS record gets around it.
type Policy struct {
	allowed  []netip.Prefix
	reserved []netip.Prefix
	public6  netip.Prefix
}

// NewPolicy makes a policy that allows these networks besides the public ones.
func NewPolicy(allowed []netip.Prefix) Policy {
	policy := Policy{public6: netip.MustParsePrefix("2000::/3")}
	for _, prefix := range allowed {
		policy.allowed = append(policy.allowed, prefix.Masked())
	}
	for _, text := range []string{
		// IPv4 networks that are not public (IANA's special-purpose registry).
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		// IPv6 networks inside of 2000::/3: protocol assignments, documentation, and tunnels, which can lead to any
		// IPv4 address.
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		policy.reserved = append(policy.reserved, netip.MustParsePrefix(text))
	}
	return policy
}

// permits reports whether the address may be dialed. Without TLS it permits only the operator's networks, so that no
// document crosses the public network unencrypted.
func (p Policy) permits(address netip.AddrPort, secure bool) bool {
	ip := address.Addr()
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	has := func(network netip.Prefix) bool { return network.Contains(ip) }
	if slices.ContainsFunc(p.allowed, has) {
		return true
	}
	port := address.Port()
	if !secure || (port != portHTTPS && port < firstFreePort) || slices.ContainsFunc(p.reserved, has) {
		return false
	}
	return ip.Is4() || p.public6.Contains(ip)
}

// dialControl is the dialer's Control hook. The dialer calls it before each connection, with the numeric address.
type dialControl func(ctx context.Context, network, address string, conn syscall.RawConn) error

func (p Policy) control(secure bool) dialControl {
	return func(_ context.Context, _, text string, _ syscall.RawConn) error {
		address, err := netip.ParseAddrPort(text)
		if err != nil || !p.permits(address, secure) {
			return fmt.Errorf("%s: %w", text, ErrAddress)
		}
		return nil
	}
}
