package conformance

import (
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// testPolicy has requests without a key, or with one under a wrong name.
func (s *site) testPolicy(t *testing.T) {
	t.Helper()
	t.Run("Required", s.testRequiredKeys)

	for _, name := range misnames() {
		t.Run("WarnsOf"+name, func(t *testing.T) {
			t.Parallel()
			c := s.start(t).without("Idempotency-Key").with(name, "k")
			first, second := s.created(t, c), s.created(t, c)
			want := name + " is not recognized; send Idempotency-Key"
			if got := first.Header.Get("Idempotency-Warning"); got != want {
				t.Errorf("Idempotency-Warning = %q, want %q", got, want)
			}
			if first.Run(t) == second.Run(t) {
				t.Errorf("run = %s twice, want a warning only where nothing protects", first.Run(t))
			}
			if got := first.Header.Get("Idempotency-Expires"); got != "" {
				t.Errorf("Idempotency-Expires = %q without a key, want none", got)
			}
			refusal := s.refused(t, c.json(""), api.CodeInvalidPayload)
			if got := refusal.Header.Get("Idempotency-Warning"); got != want {
				t.Errorf("Idempotency-Warning of a refusal = %q, want %q", got, want)
			}
		})
	}

	for _, op := range s.operations(t, s.harbour(), "misnamed") {
		t.Run("WarnsAt"+op.name, func(t *testing.T) {
			t.Parallel()
			a := s.created(t, op.call.without("Idempotency-Key").with("X-Idempotency-Key", "k"))
			got := a.Header.Get("Idempotency-Warning")
			if !strings.HasPrefix(got, "X-Idempotency-Key is not recognized") {
				t.Errorf("Idempotency-Warning = %q, want the name that is not understood", got)
			}
		})
	}

	t.Run("DoesNotWarnBesideAKey", func(t *testing.T) {
		t.Parallel()
		for _, name := range misnames() {
			c := s.start(t).key(t.Name()+name).with(name, "k")
			first := s.created(t, c)
			if got := first.Header.Get("Idempotency-Warning"); got != "" {
				t.Errorf("Idempotency-Warning = %q, want none", got)
			}
			s.replayed(t, c, first)
		}
	})
}

// misnames are headers that clients mistake for the one of keys.
func misnames() []string {
	return []string{"X-Idempotency-Key", "X-Idempotency-Token", "Idempotence-Key", "Idempotency_Key"}
}

func (s *site) testRequiredKeys(t *testing.T) {
	t.Parallel()
	o := s.organization(t, "required")
	before := s.startIn(t, o).key(t.Name() + "-before")
	first := s.created(t, before)
	operations := s.operations(t, o, "required")
	s.command(t, "org", "set", o.slug, "--key-required", "--key-lifetime", "0")
	keyless := s.startIn(t, o).without("Idempotency-Key")

	t.Run("RefusesRequestsWithoutOne", func(t *testing.T) {
		t.Parallel()
		refusal := s.refused(t, keyless.named(t.Name()), api.CodeKeyRequired)
		want := []api.FieldError{{Parameter: "Idempotency-Key", Code: "required", Detail: "must be given"}}
		if p := refusal.Problem(); p.Retryable || !slices.Equal(p.Errors, want) {
			t.Errorf("refusal = %s, want one of the header that is not retryable", refusal.Body)
		}
		s.wantNoDocument(t, t.Name())
	})

	for _, name := range misnames() {
		t.Run("Names"+name, func(t *testing.T) {
			t.Parallel()
			c := keyless.named(t.Name()).with(name, "k")
			if p := s.refused(t, c, api.CodeKeyRequired).Problem(); !strings.Contains(p.Detail, name) {
				t.Errorf("detail = %q, want %q in it", p.Detail, name)
			}
			s.wantNoDocument(t, t.Name())
		})
	}

	for _, op := range operations {
		t.Run("By"+op.name, func(t *testing.T) {
			t.Parallel()
			s.refused(t, op.call.without("Idempotency-Key"), api.CodeKeyRequired)
			s.refused(t, op.call.without("Idempotency-Key").with("X-Idempotency-Key", "k"), api.CodeKeyRequired)
			s.replayed(t, op.call.key(t.Name()), s.created(t, op.call.key(t.Name())))
		})
	}

	t.Run("TakesRequestsWithOne", func(t *testing.T) {
		t.Parallel()
		c := s.startIn(t, o)
		s.replayed(t, c, s.created(t, c))
		s.replayed(t, before, first)
	})

	t.Run("DoesNotConcernOthers", func(t *testing.T) {
		t.Parallel()
		s.created(t, s.start(t).without("Idempotency-Key"))
	})
}
