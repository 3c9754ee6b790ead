package idempotency

import (
	"net/netip"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// claimColumns returns the claims column by column, as claimQuery takes them.
func claimColumns(claims []Claim) []any {
	return []any{
		core.Column(claims, func(c *Claim) uuid.UUID { return c.ID }),
		core.Column(claims, func(c *Claim) uuid.UUID { return c.OrgID }),
		core.Column(claims, func(c *Claim) string { return c.Key }),
		core.Column(claims, func(c *Claim) string { return string(c.Endpoint) }),
		core.Column(claims, func(c *Claim) string { return c.Caller.Method }),
		core.Column(claims, func(c *Claim) string { return c.Caller.Path }),
		core.Column(claims, func(c *Claim) int16 { return c.Fingerprint.Version }),
		core.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Sum[:] }),
		core.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Target[:] }),
		core.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Content[:] }),
		core.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Options[:] }),
		core.Column(claims, func(c *Claim) string { return c.Caller.RequestID }),
		core.Column(claims, func(c *Claim) *netip.Addr { return knownAddress(c.Caller.IP) }),
		core.Column(claims, func(c *Claim) string { return c.Caller.UserAgent }),
		core.Column(claims, func(c *Claim) int { return c.Response.Status }),
		core.Column(claims, func(c *Claim) string { return c.Response.Headers.ContentType }),
		core.Column(claims, func(c *Claim) string { return c.Response.Headers.Location }),
		core.Column(claims, func(c *Claim) []byte { return c.Response.Body }),
		core.Column(claims, func(c *Claim) uuid.UUID { return c.RunID }),
		core.Column(claims, func(c *Claim) float64 { return c.Lifetime.Seconds() }),
		core.Column(claims, (*Claim).lockNumber),
	}
}

func knownAddress(ip netip.Addr) *netip.Addr {
	if !ip.IsValid() {
		return nil
	}
	return &ip
}
