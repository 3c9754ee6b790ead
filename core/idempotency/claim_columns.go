package idempotency

import (
	"net/netip"

	"github.com/google/uuid"
)

// claimArrays holds the claims column by column, as claimQuery's unnest takes them.
type claimArrays struct {
	ids, orgs, runs                    []uuid.UUID
	keys, endpoints, methods, paths    []string
	versions                           []int16
	hashes, targets, contents, options [][]byte
	requestIDs, agents                 []string
	ips                                []*netip.Addr
	statuses                           []int16
	headers, bodies                    [][]byte
	lifetimes                          []float64
	locks                              []int64
}

func claimColumns(claims []Claim) ([]any, error) {
	var a claimArrays
	for i := range claims {
		if err := a.add(&claims[i]); err != nil {
			return nil, err
		}
	}
	return []any{
		a.ids, a.orgs, a.keys, a.endpoints, a.methods, a.paths, a.versions, a.hashes, a.targets, a.contents,
		a.options, a.requestIDs, a.ips, a.agents, a.statuses, a.headers, a.bodies, a.runs, a.lifetimes, a.locks,
	}, nil
}

func (a *claimArrays) add(c *Claim) error {
	headers, err := c.Response.Headers.encode()
	if err != nil {
		return err
	}
	a.ids = append(a.ids, c.ID)
	a.orgs = append(a.orgs, c.OrgID)
	a.runs = append(a.runs, c.RunID)
	a.keys = append(a.keys, c.Key)
	a.endpoints = append(a.endpoints, string(c.Endpoint))
	a.methods = append(a.methods, c.Caller.Method)
	a.paths = append(a.paths, c.Caller.Path)
	a.versions = append(a.versions, c.Fingerprint.Version)
	a.hashes = append(a.hashes, c.Fingerprint.Sum[:])
	a.targets = append(a.targets, c.Fingerprint.Target[:])
	a.contents = append(a.contents, c.Fingerprint.Content[:])
	a.options = append(a.options, c.Fingerprint.Options[:])
	a.requestIDs = append(a.requestIDs, c.Caller.RequestID)
	a.ips = append(a.ips, knownAddress(c.Caller.IP))
	a.agents = append(a.agents, c.Caller.UserAgent)
	a.statuses = append(a.statuses, int16(c.Response.Status)) //nolint:gosec // an HTTP status has three digits
	a.headers = append(a.headers, headers)
	a.bodies = append(a.bodies, c.Response.Body)
	a.lifetimes = append(a.lifetimes, c.Lifetime.Seconds())
	a.locks = append(a.locks, c.lockNumber())
	return nil
}

func knownAddress(ip netip.Addr) *netip.Addr {
	if !ip.IsValid() {
		return nil
	}
	return &ip
}
