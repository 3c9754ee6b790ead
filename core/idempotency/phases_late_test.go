package idempotency_test

import (
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// TestLateAnswerIsKept finishes requests that have taken longer than their key was to live.
func TestLateAnswerIsKept(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lifetime, left, want time.Duration
	}{
		"ForAnHourAfterItsEnd":      {24 * time.Hour, -time.Hour, time.Hour},
		"ForAnHourShortlyBefore":    {24 * time.Hour, time.Minute, time.Hour},
		"ForHalfOfAShortLifetime":   {time.Minute, -time.Second, 30 * time.Second},
		"AsEverWhenThereIsMuchLeft": {24 * time.Hour, 2 * time.Hour, 2 * time.Hour},
		"AsEverInAShortLifetime":    {time.Minute, 40 * time.Second, 40 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, longLock)
			locked, before := r.begin(t, "k"), r.now(t)
			r.exec(t, `UPDATE idempotency_keys SET expires_at = now() + make_interval(secs => $1),
				created_at = now() + make_interval(secs => $1 - $2)`, tt.left.Seconds(), tt.lifetime.Seconds())
			locked.ExpiresAt = r.lookup(t, "k").ExpiresAt
			finished, err := r.engine.Drive(t.Context(), r.flow, locked)
			if err != nil {
				t.Fatalf("drive: %v", err)
			}
			stored := r.lookup(t, "k")
			if stored.Expired || !stored.ExpiresAt.Equal(finished.ExpiresAt) {
				t.Errorf("stored end = %s, expired %t, want %s, as returned", stored.ExpiresAt, stored.Expired,
					finished.ExpiresAt)
			}
			if end := stored.ExpiresAt.Add(-tt.want); end.Before(before) || end.After(r.now(t)) {
				t.Errorf("kept until %s, want %s from a moment behind %s on", stored.ExpiresAt, tt.want, before)
			}
		})
	}
}

// now is the time of the database.
func (r *rig) now(tb testing.TB) time.Time {
	tb.Helper()
	return coretest.One[time.Time](tb, r.db, `SELECT clock_timestamp()`)
}
