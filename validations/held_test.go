package validations

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// What becomes of a held run is decided once. Whoever comes later, or too early, is refused and changes nothing.
func TestHeldRuns(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	type deed func(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID) error
	charge := func(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID) error {
		return b.service.RecordCharge(ctx, tx, orgID, runID, "runs_overage", time.Now())
	}
	decline := func(ctx context.Context, tx db.Tx, orgID, runID uuid.UUID) error {
		return b.service.Decline(ctx, tx, orgID, runID, "The charge was declined.")
	}
	launch := b.service.Launch
	for name, tt := range map[string]struct{ done, late []deed }{
		"AreLaunchedUncharged": {nil, []deed{launch}},
		"AreCharged":           {[]deed{charge}, []deed{charge, decline}},
		"AreLaunched":          {[]deed{charge, launch}, []deed{charge, launch, decline}},
		"AreDeclined":          {[]deed{decline}, []deed{charge, launch, decline}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prepared := b.prepared(t, b.workflow(t), InlineContent([]byte("{}")))
			prepared.Held, prepared.Run.UsageMetric = true, ""
			id, err := b.create(t, prepared)
			if err != nil {
				t.Fatal(err)
			}
			try := func(do deed) error {
				return db.Do(t.Context(), b.db, func(tx db.Tx) error { return do(t.Context(), tx, b.orgID, id) })
			}
			for _, do := range tt.done {
				if err := try(do); err != nil {
					t.Fatal(err)
				}
			}
			for n, do := range tt.late {
				if err := try(do); !errors.Is(err, errNotHeld) {
					t.Errorf("error %d = %v, want %v", n, err, errNotHeld)
				}
			}
		})
	}
}
