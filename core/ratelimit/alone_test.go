package ratelimit_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/ratelimit"
)

func TestAlone(t *testing.T) {
	t.Parallel()

	t.Run("AllowsAMinutesUsesAtOnce", func(t *testing.T) {
		t.Parallel()
		limit, org := ratelimit.NewAlone("runs", 3), uuid.New()
		for use := range 3 {
			got := limit.Allow(t.Context(), org)
			if got.Wait > 0 || got.Policy.Quota != 3 || got.Policy.Window != time.Minute {
				t.Errorf("use %d = %+v, want it allowed, 3 in a minute", use+1, got)
			}
		}
		if got := limit.Allow(t.Context(), org); got.Wait <= 0 {
			t.Errorf("use 4 = %+v, want it refused", got)
		}
		if got := limit.Allow(t.Context(), uuid.New()); got.Wait > 0 {
			t.Errorf("another organization's use = %+v, want it allowed", got)
		}
	})

	t.Run("IsOffWithZero", func(t *testing.T) {
		t.Parallel()
		limit, org := ratelimit.NewAlone("runs", 0), uuid.New()
		for range 100 {
			if got := limit.Allow(t.Context(), org); got.Wait > 0 || got.Policy.Quota != 0 {
				t.Fatalf("use = %+v, want no limit", got)
			}
		}
	})
}
