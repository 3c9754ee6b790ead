package api

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// smallBody is the largest body in these tests.
const smallBody = 64 << 10

// refusal is a start that breaks a rule.
type refusal struct {
	name string
	call call
	code api.Code
	// detail is a part of the problem's detail.
	detail string
}

// TestStartRefusals has no faults within a body: those are shown by the tests of workflows/start/body.
func TestStartRefusals(t *testing.T) {
	t.Parallel()
	s := setupRefusals(t)
	good := s.Start(t, "")
	tests := []refusal{
		{"UnknownVersion", good.To(good.Path + "?version=99"), api.CodeNotFound, "workflow"},
		{"VersionZero", good.To(good.Path + "?version=0"), api.CodeInvalidParameter, "whole number"},
		{"VersionEmpty", good.To(good.Path + "?version="), api.CodeInvalidParameter, "whole number"},
		{"VersionNoNumber", good.To(good.Path + "?version=latest"), api.CodeInvalidParameter, "whole number"},
		{"VersionUnreadable", good.To(good.Path + "?version=%zz"), api.CodeInvalidParameter, "cannot be read"},
		{"VersionBehindASemicolon", good.To(good.Path + "?a=1;version=2"), api.CodeInvalidParameter, "cannot be read"},
		{"VersionTooLarge", good.To(good.Path + "?version=2147483648"), api.CodeInvalidParameter, "whole number"},

		{"NoBody", good.WithBody("text/csv", ""), api.CodeInvalidPayload, "empty"},
		{
			"BodyTooLarge", good.WithBody("text/csv", strings.Repeat("a", smallBody+1)), api.CodePayloadTooLarge,
			strconv.Itoa(smallBody),
		},
		{
			"TypeNotAccepted", good.WithBody("application/pdf", "%PDF"),
			api.CodeUnsupportedMediaType, "application/pdf",
		},
		{"TypeUnreadable", good.WithBody("nonsense", "a"), api.CodeUnsupportedMediaType, "media type"},
		{"Compressed", good.With("Content-Encoding", "gzip"), api.CodeUnsupportedMediaType, "Content-Encoding"},

		{
			"InactiveWorkflow", good.To("/api/workflows/legacy-import/start/").WithBody("application/json", "{}"),
			api.CodeWorkflowInactive, "inactive",
		},
		{"WorkflowWithoutSteps", good.To("/api/workflows/stepless/start/"), api.CodeWorkflowHasNoSteps, "no steps"},
		{"QuotaUsedUp", good.By(s.Tiny.Tokens.Executor), api.CodeQuotaExceeded, "3 of 3 runs"},
	}
	s.wantRefusals(t, tests, s.rows)
}

// wantRefusals demands that each call is refused, so that a retry is of no use, and that it changes nothing of what is
// counted. A call without a key gets one.
func (s *stage) wantRefusals(t *testing.T, refusals []refusal, count func(testing.TB) string) {
	t.Helper()
	before := count(t)
	for _, tt := range refusals {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.call
			if c.Header.Values("Idempotency-Key") == nil {
				c = c.With("Idempotency-Key", tt.name)
			}
			got := s.Do(t, c)
			problem := fixture.WantProblem(t, got, tt.code)
			if !strings.Contains(problem.Detail, tt.detail) || problem.Retryable {
				t.Errorf("problem = %+v, want one that says %q and is not retryable", problem, tt.detail)
			}
			fixture.WantHeader(t, got,
				map[string]string{"Location": "", "Idempotency-Expires": "", "Idempotent-Replayed": ""})
			if after := count(t); after != before {
				t.Errorf("rows = %s, want %s", after, before)
			}
		})
	}
}

// rows counts what starts leave behind.
func (s *stage) rows(tb testing.TB) string {
	tb.Helper()
	return fmt.Sprintf("%+v", s.RowCounts(tb))
}

// unknownID is a well-formed id of nothing.
const unknownID = "0190a000-0000-7000-8000-000000000000"

// setupRefusals adds a workflow without steps and uses tiny's quota up.
func setupRefusals(tb testing.TB, change ...func(*config.Settings)) *stage {
	tb.Helper()
	s := setup(tb, append(change, func(settings *config.Settings) { settings.MaxBodyBytes = smallBody })...)
	for _, org := range []config.DemoOrg{s.Harbour, s.Tiny} {
		s.AddWorkflow(tb, org, workflows.Draft{
			Slug: "stepless", Name: "Stepless", IsActive: true,
			Definition: validations.Definition{Accepts: []string{"text/csv"}},
		})
	}
	for range 3 {
		s.Started(tb, s.Start(tb, "").By(s.Tiny.Tokens.Executor))
	}
	return s
}

func (s *stage) wantRows(tb testing.TB, want fixture.RowCounts) {
	tb.Helper()
	if diff := cmp.Diff(want, s.RowCounts(tb)); diff != "" {
		tb.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestStartChecksInOrder(t *testing.T) {
	t.Parallel()
	s := setupRefusals(t, func(settings *config.Settings) {
		settings.RunsPerMinute, settings.RedisURL = 4, "redis://shared"
	})
	good := s.Start(t, "order")
	viewer := good.By(s.Harbour.Tokens.Viewer)
	unknown := good.To("/api/workflows/nothing/start/")
	inactive := good.To("/api/workflows/legacy-import/start/")
	stepless := good.To("/api/workflows/stepless/start/")
	// tiny has used up its quota, and with one run of harbour's its rate is a start below the limit.
	tiny := good.By(s.Tiny.Tokens.Executor)
	tooLarge := strings.Repeat("a", smallBody+1)
	s.Started(t, tiny.By(s.Harbour.Tokens.Executor).With("Idempotency-Key", "used"))
	s.Exec(t, `UPDATE workflows SET is_active = false WHERE slug = 'building'`)
	s.AddWorkflow(t, s.Harbour, workflows.Draft{
		Slug: "idle", Name: "Idle", Definition: validations.Definition{Accepts: []string{"text/csv"}},
	})
	used := good.With("Idempotency-Key", "used")
	s.wantRefusals(t, []refusal{
		{name: "TokenBeforeKey", call: good.By("").With("Idempotency-Key", ""), code: api.CodeNotAuthenticated},
		{name: "TokenBeforeWorkflow", call: unknown.By("no"), code: api.CodeNotAuthenticated},
		{
			name: "KeyBeforeVersion", call: good.To(good.Path+"?version=0").With("Idempotency-Key", ""),
			code: api.CodeKeyInvalid,
		},
		{name: "KeyBeforeWorkflow", call: unknown.With("Idempotency-Key", ""), code: api.CodeKeyInvalid},
		{name: "KeyBeforeRole", call: viewer.With("Idempotency-Key", ""), code: api.CodeKeyInvalid},
		{name: "WorkflowBeforeRole", call: viewer.To(unknown.Path), code: api.CodeNotFound},
		{name: "WorkflowBeforeBody", call: unknown.WithBody("nonsense", tooLarge), code: api.CodeNotFound},
		{name: "RoleBeforeSize", call: viewer.WithBody("text/csv", tooLarge), code: api.CodePermissionDenied},
		{name: "RoleBeforeBody", call: viewer.WithBody("text/csv", ""), code: api.CodePermissionDenied},
		{name: "RoleBeforeReplay", call: used.By(s.Harbour.Tokens.Viewer), code: api.CodePermissionDenied},
		{name: "RoleBeforeActivity", call: viewer.To(inactive.Path), code: api.CodePermissionDenied},
		{name: "BodyBeforeReplay", call: used.WithBody("text/csv", ""), code: api.CodeInvalidPayload},
		{name: "SizeBeforeActivity", call: inactive.WithBody("text/csv", tooLarge), code: api.CodePayloadTooLarge},
		{name: "BodyBeforeActivity", call: inactive.WithBody("text/csv", ""), code: api.CodeInvalidPayload},
		{
			name: "MediaTypeBeforeActivity", call: inactive.WithBody("nonsense", "a"),
			code: api.CodeUnsupportedMediaType,
		},
		{name: "ReuseBeforeActivity", call: used.To(inactive.Path), code: api.CodeKeyReused},
		{name: "ReuseBeforeSteps", call: used.To(stepless.Path), code: api.CodeKeyReused},
		{name: "ReuseBeforeAcceptance", call: used.WithBody("application/pdf", "%"), code: api.CodeKeyReused},
		{name: "ActivityBeforeSteps", call: good.To("/api/workflows/idle/start/"), code: api.CodeWorkflowInactive},
		{name: "ActivityBeforeAcceptance", call: inactive, code: api.CodeWorkflowInactive},
		{name: "ActivityBeforeQuota", call: tiny.To(inactive.Path), code: api.CodeWorkflowInactive},
		{
			name: "StepsBeforeAcceptance", call: stepless.WithBody("application/pdf", "%"),
			code: api.CodeWorkflowHasNoSteps,
		},
		{name: "StepsBeforeQuota", call: tiny.To(stepless.Path), code: api.CodeWorkflowHasNoSteps},
		{
			name: "AcceptanceBeforeQuota", call: tiny.WithBody("application/pdf", "%"),
			code: api.CodeUnsupportedMediaType,
		},
	}, s.rows)
}

func TestStartRateLimits(t *testing.T) {
	t.Parallel()

	t.Run("OfATokenCountsEveryRequestBeforeItsKeyIsRead", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.RequestsPerSecond = 0.01 })
		call := s.Start(t, "").With("Idempotency-Key", "")
		got := s.Do(t, call)
		for got.Status == http.StatusBadRequest {
			got = s.Do(t, call)
		}
		wantRetryLater(t, got, api.CodeRateLimited, 100)
		s.Must(t, http.StatusCreated, s.Start(t, "other").By(s.Harbour.Tokens.Owner))
	})

	t.Run("OfAnOrganizationComesBeforeTheQuota", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) {
			settings.RunsPerMinute, settings.RedisURL = 3, "redis://shared"
		})
		tiny := func(key string) call { return s.Start(t, key).By(s.Tiny.Tokens.Executor) }
		first := s.Must(t, http.StatusCreated, tiny("1"))
		s.Started(t, tiny("2"))
		s.Started(t, tiny("3"))
		wantRetryLater(t, s.Do(t, tiny("4")), api.CodeRateLimited, 60)
		fixture.WantProblem(t, s.Do(t, tiny("4").WithBody("application/pdf", "%")), api.CodeUnsupportedMediaType)
		fixture.WantReplay(t, first, s.Do(t, tiny("1")))
		s.Must(t, http.StatusCreated, s.Start(t, "4"))
		s.Redis.FlushAll()
		if problem := wantRetryLater(t, s.Do(t, tiny("4")), api.CodeQuotaExceeded, 32*24*60*60); problem.Retryable {
			t.Error("retryable = true for a quota, want false")
		}
		s.wantRows(t, fixture.RowCounts{Keys: 4, Submissions: 4, Runs: 4, Jobs: 4, Audits: 4, Used: 4})
	})
}

// wantRetryLater checks a problem that says when to come back, in seconds.
func wantRetryLater(tb testing.TB, got answer, code api.Code, most int) api.Problem {
	tb.Helper()
	problem := fixture.WantProblem(tb, got, code)
	seconds, err := strconv.Atoi(got.Header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > most {
		tb.Errorf("Retry-After = %q, want 1 to %d", got.Header.Get("Retry-After"), most)
	}
	return problem
}

func TestStartsAreNotMadeWithoutIdempotency(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Exec(t, `ALTER TABLE idempotency_keys RENAME TO away`)
	got := s.Do(t, s.Start(t, "away"))
	s.Exec(t, `ALTER TABLE away RENAME TO idempotency_keys`)
	wantRetryLater(t, got, api.CodeUnavailable, 1)
	s.wantRows(t, fixture.RowCounts{})
}
