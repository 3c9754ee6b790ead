package idempotency

import (
	"net/netip"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
)

// claimColumns returns the claims column by column, as claimQuery takes them.
func claimColumns(claims []Claim) []any {
	return []any{
		core.IDColumn(claims, func(c *Claim) *uuid.UUID { return &c.ID }),
		core.IDColumn(claims, func(c *Claim) *uuid.UUID { return &c.OrgID }),
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
		core.Column(claims, func(c *Claim) *int { return storedOnly(c, c.Response.Status) }),
		core.Column(claims, func(c *Claim) string { return c.Response.Headers.ContentType }),
		core.Column(claims, func(c *Claim) string { return c.Response.Headers.Location }),
		core.Column(claims, func(c *Claim) *[]byte { return storedOnly(c, c.Response.Body) }),
		core.IDColumn(claims, func(c *Claim) *uuid.UUID { return knownRun(c.RunID) }),
		core.Column(claims, func(c *Claim) float64 { return c.Lifetime.Seconds() }),
		core.Column(claims, (*Claim).LockNumber),
		core.Column(claims, (*Claim).point),
		core.Column(claims, (*Claim).lockMilliseconds),
	}
}

// point is the recovery point that the claim reaches.
func (c *Claim) point() Point {
	if c.Point == "" {
		return PointFinished
	}
	return c.Point
}

// lockMilliseconds is nil for a claim that is finished at once: nobody holds it any more.
func (c *Claim) lockMilliseconds() *int64 {
	if c.point() == PointFinished {
		return nil
	}
	lock := c.Lock.Milliseconds()
	return &lock
}

// storedOnly is a part of the response, or nil while there is none.
func storedOnly[T any](c *Claim, part T) *T {
	if c.point() != PointFinished {
		return nil
	}
	return &part
}

func knownRun(id uuid.UUID) *uuid.UUID {
	if id == uuid.Nil {
		return nil
	}
	return &id
}

func knownAddress(ip netip.Addr) *netip.Addr {
	if !ip.IsValid() {
		return nil
	}
	return &ip
}
