package execution

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
	"github.com/simplevalidations/simplevalidations/core/jobs"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// externalBundle is the service with an external validator and an address for its callbacks.
type externalBundle struct {
	*testBundle

	validator *outside.Validator
	url       string
	secret    string
}

func setupExternal(tb testing.TB, cfg Config) externalBundle {
	tb.Helper()
	router := echo.New()
	router.HTTPErrorHandler = core.HandleError(slog.New(slog.DiscardHandler), core.WriteProblem)
	callbacks := httptest.NewServer(router)
	tb.Cleanup(callbacks.Close)
	cfg.External = ExternalConfig{
		Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Address: callbacks.URL,
	}
	b := externalBundle{testBundle: setup(tb, cfg)}
	router.POST("/api/callbacks/:id/", b.acceptCallback)
	// The secret follows from the address, so the address is there first.
	listener := httptest.NewUnstartedServer(nil)
	b.url = "http://" + listener.Listener.Addr().String()
	b.secret = b.secretOf(tb, b.url).Secret
	b.validator = outside.NewValidator(b.secret)
	listener.Config.Handler = b.validator
	listener.Start()
	tb.Cleanup(listener.Close)
	return b
}

// secretOf is the secret of the organization's validator at an origin.
func (b externalBundle) secretOf(tb testing.TB, origin string) api.SigningSecret {
	tb.Helper()
	secrets, err := b.executor.cfg.Signing.Read(tb.Context(), core.Principal{OrgID: b.orgID}, []string{origin})
	if err != nil {
		tb.Fatal(err)
	}
	return secrets[0]
}

// acceptCallback is the view of callbacks without its rate limit.
func (b externalBundle) acceptCallback(c echo.Context) error {
	receipt, signature := c.Param("id"), c.Request().Header.Get(core.HeaderSignature)
	accepted, err := b.executor.AcceptCallback(c.Request().Context(), receipt, signature, func() ([]byte, error) {
		return core.ReadBody(c, engines.MaxAnswerBytes, echo.MIMEApplicationJSON)
	})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, map[string]bool{"accepted": accepted})
}

// startHTTP starts a run with one http step, whose configuration has these members besides the address.
func (b externalBundle) startHTTP(tb testing.TB, members string) jobs.Job {
	tb.Helper()
	return b.startBounded(tb, 0, members)
}

func (b externalBundle) startBounded(tb testing.TB, seconds int, members string) jobs.Job {
	tb.Helper()
	if members != "" {
		members = "," + members
	}
	config := []byte(`{"url":"` + b.url + `"` + members + `}`)
	return b.create(tb, b.publish(tb, validations.Definition{
		Accepts: []string{"text/" + uuid.NewString()}, TimeoutSeconds: seconds,
		Steps: []validations.Step{{ID: "check", Name: "Check", Type: engines.KindHTTP, Config: config}},
	}))
}

// work executes what is staged, as the worker does, and returns how much it was.
func (b externalBundle) work(tb testing.TB) int {
	tb.Helper()
	rows, err := b.db.Pool.Query(tb.Context(), `DELETE FROM staged_jobs RETURNING kind, org_id, subject_id, epoch`)
	if err != nil {
		tb.Fatal(err)
	}
	staged, err := pgx.CollectRows(rows, pgx.RowToStructByPos[jobs.Job])
	if err != nil {
		tb.Fatal(err)
	}
	for _, job := range staged {
		b.execute(tb, job)
	}
	return len(staged)
}

// takeOver stages the run again as the sweeper does when its holder has died.
func (b externalBundle) takeOver(tb testing.TB, job jobs.Job) {
	tb.Helper()
	b.exec(tb, `UPDATE validation_runs SET sweep_after = now(), lease_until = NULL
		WHERE id = $1 AND state <> 'COMPLETED'`, job.SubjectID)
	b.exec(tb, `DELETE FROM staged_jobs`)
	if _, err := b.executor.Sweep(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// callback is what a validator sends later.
type callback struct {
	answer, secret string
	at             time.Time
}

func (b externalBundle) callBack(ctx context.Context, call outside.Call, c callback) (int, bool, error) {
	if c.answer == "" {
		c.answer = outside.AnswerOf(true)
	}
	if c.secret == "" {
		c.secret = b.secret
	}
	if c.at.IsZero() {
		c.at = time.Now()
	}
	return outside.CallBack(ctx, http.DefaultClient, call.Request, c.answer, c.secret, c.at)
}

// wantCallback sends a callback that has to be answered so.
func (b externalBundle) wantCallback(tb testing.TB, c callback, status int, accepted bool) {
	tb.Helper()
	gotStatus, gotAccepted, err := b.callBack(tb.Context(), b.validator.Calls()[0], c)
	if err != nil || gotStatus != status || gotAccepted != accepted {
		tb.Fatalf("callback = %d, accepted %t, %v; want %d, %t", gotStatus, gotAccepted, err, status, accepted)
	}
}

// wantCalls checks how often the validator was called, and that it was one logical call.
func (b externalBundle) wantCalls(tb testing.TB, attempts int) {
	tb.Helper()
	if got := b.validator.Attempts(); got != attempts || len(b.validator.Calls()) > 1 || b.validator.Refused() != 0 {
		tb.Errorf("attempts = %d, calls %d, refused %d; want %d, at most 1 and 0", got, len(b.validator.Calls()),
			b.validator.Refused(), attempts)
	}
}

// callRow is what is kept of a call.
type callRow struct {
	State   callState
	Until   bool
	Answer  bool
	Waiting bool
}

func (b externalBundle) call(tb testing.TB, job jobs.Job) callRow {
	tb.Helper()
	rows, err := b.db.Pool.Query(tb.Context(), `
		SELECT c.state, callback_until IS NOT NULL, answer IS NOT NULL, coalesce(r.sweep_after = callback_until, false)
		FROM external_calls AS c JOIN validation_runs AS r ON r.org_id = c.org_id AND r.id = c.run_id
		WHERE run_id = $1`, job.SubjectID)
	if err != nil {
		tb.Fatal(err)
	}
	row, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[callRow])
	if err != nil {
		tb.Fatal(err)
	}
	return row
}
