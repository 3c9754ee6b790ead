package validations

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
)

func TestARunIsShownInOneRoundTrip(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.start(t)
	b.fail(t, id)
	proxy := pgproxy.Start(t, b.db.Pool.Config().ConnString())
	b.service.db = coretest.Connect(t, proxy.URL())
	var took int64
	// Statements are prepared when the connection sees them for the first time.
	for range 2 {
		before := proxy.RoundTrips()
		body, err := b.service.Show(t.Context(), b.orgID, "org", id)
		if err != nil {
			t.Fatal(err)
		}
		took = proxy.RoundTrips() - before
		if len(body.Steps) != 1 || body.Steps[0].Status != api.StepStatusFailed || len(body.Steps[0].Issues) != 1 {
			t.Errorf("steps = %+v, want a failed one with one finding", body.Steps)
		}
	}
	if took != 1 {
		t.Errorf("took %d round trips, want 1", took)
	}
}

// A step that is committed while the run is read belongs to a later state of the run.
func TestStepsFitTheirRun(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	id := b.start(t)
	b.fail(t, id)
	b.exec(t, `INSERT INTO step_runs (org_id, id, run_id, ordinal, step_id, name, status, started_at, ended_at)
		VALUES ($1, gen_random_uuid(), $2, 1, 'later', 'Later', 'PASSED', now(), now())`, b.orgID, id)
	detail, err := b.service.Detail(t.Context(), b.orgID, id)
	if err != nil {
		t.Fatal(err)
	}
	if len(detail.Steps) != 1 || detail.Steps[0].StepID != "step" {
		t.Errorf("steps = %+v, want the one that the run knows of", detail.Steps)
	}
}
