package idempotency

import (
	"net/netip"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// claimColumns returns the claims column by column, in the order of claimQuery's parameters.
func claimColumns(claims []Claim) []any {
	return []any{
		db.Column(claims, func(c *Claim) *uuid.UUID { return &c.ID }),
		db.Column(claims, func(c *Claim) *uuid.UUID { return &c.OrgID }),
		db.Column(claims, func(c *Claim) string { return c.Key }),
		db.Column(claims, func(c *Claim) string { return string(c.Endpoint) }),
		db.Column(claims, func(c *Claim) string { return c.Caller.Method }),
		db.Column(claims, func(c *Claim) string { return c.Caller.Path }),
		db.Column(claims, func(c *Claim) int16 { return c.Fingerprint.Version }),
		db.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Sum[:] }),
		db.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Target[:] }),
		db.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Content[:] }),
		db.Column(claims, func(c *Claim) []byte { return c.Fingerprint.Options[:] }),
		db.Column(claims, func(c *Claim) string { return c.Caller.RequestID }),
		db.Column(claims, func(c *Claim) *netip.Addr { return db.NonZero(c.Caller.IP) }),
		db.Column(claims, func(c *Claim) string { return c.Caller.UserAgent }),
		db.Column(claims, func(c *Claim) int { return c.Response.Status }),
		db.Column(claims, func(c *Claim) string { return c.Response.Headers.ContentType }),
		db.Column(claims, func(c *Claim) string { return c.Response.Headers.Location }),
		db.Column(claims, func(c *Claim) []byte { return c.Response.Body }),
		db.Column(claims, func(c *Claim) *uuid.UUID { return db.NonZero(c.Subject) }),
		db.Column(claims, func(c *Claim) float64 { return c.Lifetime.Seconds() }),
		db.Column(claims, (*Claim).LockNumber),
		db.Column(claims, func(c *Claim) string { return string(c.Point) }),
		db.Column(claims, func(c *Claim) int64 { return c.Lock.Milliseconds() }),
	}
}
