package idempotency_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/metrics"
)

// journal is a Recorder that lists what it gets: the codes of refusals, "replay" and "misnamed".
type journal struct {
	discard

	lines []string
}

func (j *journal) Repeated(_ uuid.UUID, _ *idempotency.Record, err error) {
	if err == nil {
		j.lines = append(j.lines, "replay")
		return
	}
	j.lines = append(j.lines, string(core.AsError(err).Code))
}

func (j *journal) Misnamed(uuid.UUID) { j.lines = append(j.lines, "misnamed") }

func TestGuardRecords(t *testing.T) {
	t.Parallel()
	var recorded journal
	guard := idempotency.NewGuard(nil, time.Hour, nil, &recorded, metrics.New("").Keys)
	record := idempotency.Record{Point: idempotency.PointFinished, Fingerprint: request().Fingerprint()}
	if _, err := guard.Answer(record, record.Fingerprint); err != nil {
		t.Errorf("replay: %v", err)
	}
	_, err := guard.Answer(record, idempotency.Request{}.Fingerprint())
	checkCode(t, err, api.CodeKeyReused)
	checkCode(t, guard.InFlight(uuid.New()), api.CodeKeyInProgress)

	misnamed := httptest.NewRequest(http.MethodPost, "/", http.NoBody)
	misnamed.Header.Set("X-Idempotency-Key", "k")
	misnamed = misnamed.WithContext(core.WithPrincipal(t.Context(), core.Principal{OrgID: uuid.New()}))
	c := echo.New().NewContext(misnamed, httptest.NewRecorder())
	view := guard.KeyOptional(func(echo.Context) error { return nil })
	if err := view(c); err == nil {
		t.Error("a guarded route passed although its key was not read, want an error")
	}
	if err := idempotency.ReadKey(view)(c); err != nil {
		t.Errorf("misnamed key: %v", err)
	}
	want := []string{"replay", string(api.CodeKeyReused), string(api.CodeKeyInProgress), "misnamed"}
	if diff := cmp.Diff(want, recorded.lines); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

func TestGuardNamesTheTargetOfTheOperation(t *testing.T) {
	t.Parallel()
	operations := idempotency.Operations{"run_rerun": {Title: "Repeat a run", Target: "run"}}
	guard := idempotency.NewGuard(nil, time.Hour, operations, discard{}, metrics.New("").Keys)
	first, second := request(), request()
	second.Target = "other"
	for endpoint, want := range map[idempotency.Endpoint]string{"run_rerun": "run", "unnamed": "target"} {
		record := idempotency.Record{
			Identity: idempotency.Identity{Endpoint: endpoint}, Fingerprint: first.Fingerprint(),
		}
		_, err := guard.Answer(record, second.Fingerprint())
		if diff := cmp.Diff([]string{want}, core.AsError(err).Differs); diff != "" {
			t.Errorf("%s: differs (-want +got):\n%s", endpoint, diff)
		}
	}
}

func TestRefusalSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	first := request()
	record := idempotency.Record{Fingerprint: first.Fingerprint()}
	for want, change := range map[string]func(*idempotency.Request){
		"a different request body":    func(r *idempotency.Request) { r.MediaType = "other/type" },
		"another workflow or version": func(r *idempotency.Request) { r.Version, r.VersionGiven = "7", true },
		"another workflow or version and other options (name, file name, short description or metadata)": func(
			r *idempotency.Request,
		) {
			r.Target, r.Options = "other", []idempotency.Option{{Name: "name", Value: "other"}}
		},
	} {
		again := request()
		change(&again)
		err := core.AsError(record.Decide(again.Fingerprint(), "workflow"))
		if want := "Idempotency key has already been used with " + want + "."; err.Detail != want {
			t.Errorf("detail = %q, want %q", err.Detail, want)
		}
	}
}
