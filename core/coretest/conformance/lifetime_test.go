package conformance

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// expire lets all the time of a key pass.
func (s *site) expire(tb testing.TB, key string) {
	tb.Helper()
	program.Change(tb, s.DB, `UPDATE idempotency_keys SET created_at = created_at - (expires_at - now()),
		expires_at = now() WHERE key = $1`, key)
}

// wantRenewed demands that a call under an expired key is done as if the key had never been used.
func (s *site) wantRenewed(t *testing.T, c call, old program.Answer) {
	t.Helper()
	renewed := s.created(t, c)
	if renewed.Run(t) == old.Run(t) {
		t.Errorf("run = %s again, want a new one", old.Run(t))
	}
	s.replayed(t, c, renewed)
	s.wantRuns(t, t.Name(), 2)
}

func (s *site) testLifetime(t *testing.T) {
	t.Helper()
	t.Run("OfTheOrganization", s.testLifetimeOfOrganization)
	t.Run("PurgeUnderLoad", s.testPurgeUnderLoad)

	t.Run("OneMomentBeforeItsEnd", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		first := s.created(t, c)
		program.Change(t, s.DB, `UPDATE idempotency_keys SET expires_at = now() + interval '1 minute',
			created_at = created_at - interval '24 hours' WHERE key = $1`, t.Name())
		if a := s.on(t, s.other, c); !a.Replayed() || a.Run(t) != first.Run(t) {
			t.Errorf("answer = %d %s (replayed %t), want a replay", a.Status, a.Body, a.Replayed())
		}
	})

	t.Run("ReplaysDoNotProlongIt", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		first := s.created(t, c)
		const lives = "SELECT extract(epoch FROM expires_at)::bigint FROM idempotency_keys WHERE key = $1"
		before := program.Count(t, s.DB, lives, t.Name())
		s.replayed(t, c, first)
		if after := program.Count(t, s.DB, lives, t.Name()); after != before {
			t.Errorf("the key ends at %d, want %d", after, before)
		}
	})

	t.Run("OverBeforeThePurge", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		first := s.created(t, c)
		s.expire(t, t.Name())
		s.wantRenewed(t, c, first)
	})

	t.Run("OverAfterThePurge", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		first := s.created(t, c)
		s.expire(t, t.Name())
		s.command(t, "admin", "purge")
		if got := program.Count(t, s.DB, "SELECT count(*) FROM idempotency_keys WHERE key = $1", t.Name()); got != 0 {
			t.Errorf("keys after the purge = %d, want none", got)
		}
		s.wantRenewed(t, c, first)
	})

	t.Run("OverFiftyTimesAtOnce", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		first := s.created(t, c)
		s.expire(t, t.Name())
		renewed := wantOneFirst(t, s.atOnce(t, slices.Repeat([]call{c}, rivals)))
		if renewed.answer.Run(t) == first.Run(t) {
			t.Errorf("run = %s again, want a new one", first.Run(t))
		}
		s.wantRuns(t, t.Name(), 2)
	})
}

func (s *site) testLifetimeOfOrganization(t *testing.T) {
	t.Parallel()
	o := s.organization(t, "short-lived")
	before := s.startIn(t, o).key(t.Name() + "-before")
	first := s.created(t, before)
	s.command(t, "org", "set", o.slug, "--key-required=false", "--key-lifetime", "90m")
	s.replayed(t, before, first)
	c := s.startIn(t, o)
	short := s.created(t, c)
	s.replayed(t, c, short)
	for _, tt := range []struct {
		name   string
		answer program.Answer
		want   time.Duration
	}{
		{"AKeyFromBeforeKeepsItsEnd", first, 24 * time.Hour},
		{"AKeyFromAfterEndsSooner", short, 90 * time.Minute},
		{"AnotherOrganizationIsNotConcerned", s.created(t, s.start(t).key(t.Name()+"-another")), 24 * time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			line := tt.answer.Header.Get("Idempotency-Expires")
			ends, err := http.ParseTime(line)
			if rest := time.Until(ends); err != nil || rest > tt.want || rest < tt.want-program.Patience {
				t.Errorf("Idempotency-Expires = %q, want a date in %s", line, tt.want)
			}
		})
	}
}

// testPurgeUnderLoad purges again and again while keys are used, expire and are used anew.
func (s *site) testPurgeUnderLoad(t *testing.T) {
	t.Parallel()
	const keys, purges = 8, 4
	lasting := s.start(t).key(t.Name() + "-lasting")
	kept := s.created(t, lasting)
	for round := range purges {
		purge := program.Launch(t, s.Settings, "", "admin", "purge")
		for k := range keys {
			c := s.start(t).key(t.Name() + strconv.Itoa(k))
			first := s.created(t, c)
			s.replayed(t, c, first)
			s.expire(t, c.header.Get("Idempotency-Key"))
			s.replayed(t, lasting, kept)
		}
		if got := purge.ExitCode(t); got != 0 {
			t.Errorf("exit code of purge %d = %d, want 0", round, got)
		}
	}
	s.command(t, "admin", "purge")
	for k := range keys {
		s.wantRuns(t, t.Name()+strconv.Itoa(k), purges)
	}
	s.wantRuns(t, t.Name()+"-lasting", 1)
	if got := program.Count(t, s.DB, "SELECT count(*) FROM idempotency_keys WHERE starts_with(key, $1)",
		t.Name()); got != 1 {
		t.Errorf("keys after the last purge = %d, want the lasting one", got)
	}
}
