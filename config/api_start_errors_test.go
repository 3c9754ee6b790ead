package config_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/workflows"
)

// smallBody is the largest body in these tests.
const smallBody = 64 << 10

// refusal is a start that breaks a rule.
type refusal struct {
	name string
	call call
	code core.Code
	// detail is a part of the problem's detail.
	detail string
}

func TestStartRefusals(t *testing.T) {
	t.Parallel()
	s := setupRefusals(t)
	good := s.start(t, "")
	csv := good.body
	building := good.to("/api/workflows/building/start/")
	twoKeys := good.with("Idempotency-Key", "a")
	twoKeys.header["Idempotency-Key"] = []string{"a", "b"}
	tests := []refusal{
		{"KeyTooLong", good.with("Idempotency-Key", strings.Repeat("k", 256)), core.CodeKeyTooLong, "255 characters"},
		{"KeyEmpty", good.with("Idempotency-Key", ""), core.CodeKeyInvalid, "empty"},
		{"KeyEmptyInQuotes", good.with("Idempotency-Key", `""`), core.CodeKeyInvalid, "empty"},
		{"KeyBadlyQuoted", good.with("Idempotency-Key", `"a`), core.CodeKeyInvalid, "RFC 8941"},
		{"KeyWithParameters", good.with("Idempotency-Key", `"a";b=1`), core.CodeKeyInvalid, "RFC 8941"},
		{"KeyNotASCII", good.with("Idempotency-Key", "schlüssel"), core.CodeKeyInvalid, "ASCII"},
		{"KeyNotUTF8", good.with("Idempotency-Key", "a\xff"), core.CodeKeyInvalid, "ASCII"},
		{"KeyWithTab", good.with("Idempotency-Key", "a\tb"), core.CodeKeyInvalid, "ASCII"},
		{"TwoKeys", twoKeys, core.CodeKeyInvalid, "one Idempotency-Key"},

		{"NoToken", good.by(""), core.CodeNotAuthenticated, "Authorization"},
		{"UnknownToken", good.by("sv_unknown"), core.CodeNotAuthenticated, "unknown, revoked or expired"},
		{"Viewer", good.by(s.Harbour.Tokens.Viewer), core.CodePermissionDenied, "viewer"},

		{"UnknownSlug", good.to("/api/workflows/nothing/start/"), core.CodeNotFound, "workflow"},
		{"UnknownID", good.to("/api/workflows/" + unknownID + "/start/"), core.CodeNotFound, "workflow"},
		{
			"ForeignID", good.to("/api/workflows/" + s.Tiny.Workflows[1].ID.String() + "/start/"),
			core.CodeNotFound, "workflow",
		},
		{"UnknownVersion", good.to(good.path + "?version=99"), core.CodeNotFound, "workflow"},
		{"VersionZero", good.to(good.path + "?version=0"), core.CodeInvalidParameter, "whole number"},
		{"VersionEmpty", good.to(good.path + "?version="), core.CodeInvalidParameter, "whole number"},
		{"VersionNoNumber", good.to(good.path + "?version=latest"), core.CodeInvalidParameter, "whole number"},
		{"VersionUnreadable", good.to(good.path + "?version=%zz"), core.CodeInvalidParameter, "cannot be read"},
		{"VersionBehindASemicolon", good.to(good.path + "?a=1;version=2"), core.CodeInvalidParameter, "cannot be read"},
		{"VersionTooLarge", good.to(good.path + "?version=2147483648"), core.CodeInvalidParameter, "whole number"},

		{"NoBody", good.withBody("text/csv", ""), core.CodeInvalidPayload, "empty"},
		{
			"EnvelopeWithUnknownMember", building.withBody("application/json", `{"content":"x","run_id":"1"}`),
			core.CodeInvalidPayload, "unknown",
		},
		{
			"EnvelopeWithDuplicateName", building.withBody("application/json", `{"content":"x","content":"y"}`),
			core.CodeInvalidPayload, "JSON",
		},
		{
			"EnvelopeWithoutUTF8", building.withBody("application/json", "{\"content\":\"\xff\"}"),
			core.CodeInvalidPayload, "JSON",
		},
		{
			"MetadataWithNUL", building.withBody("application/json", `{"content":"x","metadata":{"a":"\u0000"}}`),
			core.CodeInvalidPayload, "U+0000",
		},
		{"NameOfAFolder", good.with("X-Filename", "dir/"), core.CodeInvalidPayload, "folder"},
		{"MultipartWithoutFile", good.withBody(form("X", `name="name"`, "", "a")), core.CodeInvalidPayload, "file"},
		{
			"MultipartWithUnknownPart", good.withBody(form("X", `name="file"`, "text/csv", csv, `name="org_id"`, "",
				"1")),
			core.CodeInvalidPayload, "unknown",
		},
		{
			"MultipartCutOff", good.withBody("multipart/form-data; boundary=X",
				"--X\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na"),
			core.CodeInvalidPayload, "boundary",
		},
		{
			"BodyTooLarge", good.withBody("text/csv", strings.Repeat("a", smallBody+1)), core.CodePayloadTooLarge,
			strconv.Itoa(smallBody),
		},
		{
			"TypeNotAccepted", good.withBody("application/pdf", "%PDF"),
			core.CodeUnsupportedMediaType, "application/pdf",
		},
		{"TypeUnreadable", good.withBody("nonsense", "a"), core.CodeUnsupportedMediaType, "media type"},
		{"Compressed", good.with("Content-Encoding", "gzip"), core.CodeUnsupportedMediaType, "Content-Encoding"},

		{
			"InactiveWorkflow", good.to("/api/workflows/legacy-import/start/").withBody("application/json", "{}"),
			core.CodeWorkflowInactive, "inactive",
		},
		{"WorkflowWithoutSteps", good.to("/api/workflows/stepless/start/"), core.CodeWorkflowHasNoSteps, "no steps"},
		{"QuotaUsedUp", good.by(s.Tiny.Tokens.Executor), core.CodeQuotaExceeded, "3 of 3 runs"},
	}
	before := s.rowCounts(t)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			call := tt.call
			if call.header.Values("Idempotency-Key") == nil {
				call = call.with("Idempotency-Key", "refused-"+strconv.Itoa(i))
			}
			got := s.do(t, call)
			problem := wantProblem(t, got, tt.code)
			if !strings.Contains(problem.Detail, tt.detail) {
				t.Errorf("detail = %q, want it to say %q", problem.Detail, tt.detail)
			}
			if problem.Retryable {
				t.Error("retryable = true, want false: the same request would be refused again")
			}
			for _, name := range []string{"Location", "Idempotency-Expires", "Idempotent-Replayed"} {
				if line := got.header.Get(name); line != "" {
					t.Errorf("%s = %q in a refusal, want none", name, line)
				}
			}
			// All of these starts are refused, so the rows never change.
			s.wantRows(t, before)
		})
	}
}

// unknownID is a well-formed id of nothing.
const unknownID = "0190a000-0000-7000-8000-000000000000"

// setupRefusals adds a workflow without steps and uses tiny's quota up.
func setupRefusals(tb testing.TB, change ...func(*config.Settings)) *stage {
	tb.Helper()
	s := setup(tb, append(change, func(settings *config.Settings) { settings.MaxBodyBytes = smallBody })...)
	for _, org := range []config.DemoOrg{s.Harbour, s.Tiny} {
		s.addWorkflow(tb, org, workflows.Draft{
			Slug: "stepless", Name: "Stepless", IsActive: true,
			Definition: validations.Definition{Accepts: []string{"text/csv"}},
		})
	}
	for range 3 {
		s.started(tb, s.start(tb, "").by(s.Tiny.Tokens.Executor))
	}
	return s
}

func (s *stage) wantRows(tb testing.TB, want rowCounts) {
	tb.Helper()
	if diff := cmp.Diff(want, s.rowCounts(tb)); diff != "" {
		tb.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestStartChecksInOrder(t *testing.T) {
	t.Parallel()
	s := setupRefusals(t, func(settings *config.Settings) {
		settings.RunsPerMinute, settings.RedisURL = 4, "redis://shared"
	})
	good := s.start(t, "order")
	viewer := good.by(s.Harbour.Tokens.Viewer)
	unknown := good.to("/api/workflows/nothing/start/")
	inactive := good.to("/api/workflows/legacy-import/start/")
	stepless := good.to("/api/workflows/stepless/start/")
	// tiny has used up its quota, and with one run of harbour's its rate is a start below the limit.
	tiny := good.by(s.Tiny.Tokens.Executor)
	tooLarge := strings.Repeat("a", smallBody+1)
	s.started(t, tiny.by(s.Harbour.Tokens.Executor).with("Idempotency-Key", "used"))
	s.exec(t, `UPDATE workflows SET is_active = false WHERE slug = 'building'`)
	s.addWorkflow(t, s.Harbour, workflows.Draft{
		Slug: "idle", Name: "Idle", Definition: validations.Definition{Accepts: []string{"text/csv"}},
	})
	used := good.with("Idempotency-Key", "used")
	before := s.rowCounts(t)
	for _, tt := range []refusal{
		{name: "TokenBeforeKey", call: good.by("").with("Idempotency-Key", ""), code: core.CodeNotAuthenticated},
		{name: "TokenBeforeWorkflow", call: unknown.by("no"), code: core.CodeNotAuthenticated},
		{
			name: "KeyBeforeVersion", call: good.to(good.path+"?version=0").with("Idempotency-Key", ""),
			code: core.CodeKeyInvalid,
		},
		{name: "KeyBeforeWorkflow", call: unknown.with("Idempotency-Key", ""), code: core.CodeKeyInvalid},
		{name: "KeyBeforeRole", call: viewer.with("Idempotency-Key", ""), code: core.CodeKeyInvalid},
		{name: "WorkflowBeforeRole", call: viewer.to(unknown.path), code: core.CodeNotFound},
		{name: "WorkflowBeforeBody", call: unknown.withBody("nonsense", tooLarge), code: core.CodeNotFound},
		{name: "RoleBeforeSize", call: viewer.withBody("text/csv", tooLarge), code: core.CodePermissionDenied},
		{name: "RoleBeforeBody", call: viewer.withBody("text/csv", ""), code: core.CodePermissionDenied},
		{name: "RoleBeforeReplay", call: used.by(s.Harbour.Tokens.Viewer), code: core.CodePermissionDenied},
		{name: "RoleBeforeActivity", call: viewer.to(inactive.path), code: core.CodePermissionDenied},
		{name: "BodyBeforeReplay", call: used.withBody("text/csv", ""), code: core.CodeInvalidPayload},
		{name: "SizeBeforeActivity", call: inactive.withBody("text/csv", tooLarge), code: core.CodePayloadTooLarge},
		{name: "BodyBeforeActivity", call: inactive.withBody("text/csv", ""), code: core.CodeInvalidPayload},
		{
			name: "MediaTypeBeforeActivity", call: inactive.withBody("nonsense", "a"),
			code: core.CodeUnsupportedMediaType,
		},
		{name: "ReuseBeforeActivity", call: used.to(inactive.path), code: core.CodeKeyReused},
		{name: "ReuseBeforeSteps", call: used.to(stepless.path), code: core.CodeKeyReused},
		{name: "ReuseBeforeAcceptance", call: used.withBody("application/pdf", "%"), code: core.CodeKeyReused},
		{name: "ActivityBeforeSteps", call: good.to("/api/workflows/idle/start/"), code: core.CodeWorkflowInactive},
		{name: "ActivityBeforeAcceptance", call: inactive, code: core.CodeWorkflowInactive},
		{name: "ActivityBeforeQuota", call: tiny.to(inactive.path), code: core.CodeWorkflowInactive},
		{
			name: "StepsBeforeAcceptance", call: stepless.withBody("application/pdf", "%"),
			code: core.CodeWorkflowHasNoSteps,
		},
		{name: "StepsBeforeQuota", call: tiny.to(stepless.path), code: core.CodeWorkflowHasNoSteps},
		{
			name: "AcceptanceBeforeQuota", call: tiny.withBody("application/pdf", "%"),
			code: core.CodeUnsupportedMediaType,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s.refused(t, tt.code, tt.call)
			s.wantRows(t, before)
		})
	}
}

func TestStartRateLimits(t *testing.T) {
	t.Parallel()

	t.Run("OfATokenCountsEveryRequestBeforeItsKeyIsRead", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) { settings.RequestsPerSecond = 0.01 })
		call := s.start(t, "").with("Idempotency-Key", "")
		got := s.do(t, call)
		for got.status == http.StatusBadRequest {
			got = s.do(t, call)
		}
		wantRetryLater(t, got, core.CodeRateLimited, 1, 100)
		s.must(t, http.StatusCreated, s.start(t, "other").by(s.Harbour.Tokens.Owner))
	})

	t.Run("OfAnOrganizationComesBeforeTheQuota", func(t *testing.T) {
		t.Parallel()
		s := setup(t, func(settings *config.Settings) {
			settings.RunsPerMinute, settings.RedisURL = 3, "redis://shared"
		})
		tiny := func(key string) call { return s.start(t, key).by(s.Tiny.Tokens.Executor) }
		first := s.must(t, http.StatusCreated, tiny("1"))
		s.started(t, tiny("2"))
		s.started(t, tiny("3"))
		wantRetryLater(t, s.do(t, tiny("4")), core.CodeRateLimited, 1, 60)
		wantProblem(t, s.do(t, tiny("4").withBody("application/pdf", "%")), core.CodeUnsupportedMediaType)
		wantReplay(t, first, s.do(t, tiny("1")))
		s.must(t, http.StatusCreated, s.start(t, "4"))
		s.redis.FlushAll()
		if problem := wantRetryLater(t, s.do(t, tiny("4")), core.CodeQuotaExceeded, 1, 32*24*60*60); problem.Retryable {
			t.Error("retryable = true for a quota, want false")
		}
		s.wantRows(t, rowCounts{Keys: 4, Submissions: 4, Runs: 4, Jobs: 4, Audits: 4, Used: 4})
	})
}

// wantRetryLater checks a problem that says when to come back, in seconds.
func wantRetryLater(tb testing.TB, got answer, code core.Code, least, most int) core.Problem {
	tb.Helper()
	problem := wantProblem(tb, got, code)
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || seconds < least || seconds > most {
		tb.Errorf("Retry-After = %q, want %d to %d", got.header.Get("Retry-After"), least, most)
	}
	return problem
}

func TestStartAfterARefusalUnderTheSameKey(t *testing.T) {
	t.Parallel()
	s := setupRefusals(t)
	for _, tt := range []struct {
		name    string
		refused call
		code    core.Code
		// mend makes the same call acceptable; then is what is sent afterwards.
		mend string
		then call
	}{
		{
			name: "CorrectedBody", refused: s.start(t, "").withBody("text/csv", ""), code: core.CodeInvalidPayload,
			then: s.start(t, ""),
		},
		{
			name: "CorrectedType", refused: s.start(t, "").withBody("application/pdf", "%"),
			code: core.CodeUnsupportedMediaType, then: s.start(t, ""),
		},
		{
			name: "OtherWorkflow", refused: s.start(t, "").to("/api/workflows/nothing/start/"), code: core.CodeNotFound,
			then: s.start(t, ""),
		},
		{
			name: "Quota", refused: s.start(t, "").by(s.Tiny.Tokens.Executor), code: core.CodeQuotaExceeded,
			mend: `UPDATE usage_counters SET quota = 4 WHERE quota = 3`,
			then: s.start(t, "").by(s.Tiny.Tokens.Executor),
		},
		{
			name: "Activation", refused: s.start(t, "").to("/api/workflows/legacy-import/start/"),
			code: core.CodeWorkflowInactive,
			mend: `UPDATE workflows SET is_active = true WHERE slug = 'legacy-import'`,
			then: s.start(t, "").to("/api/workflows/legacy-import/start/").withBody("application/json", "{}"),
		},
		{
			name: "Promotion", refused: s.start(t, "").by(s.Harbour.Tokens.Viewer), code: core.CodePermissionDenied,
			then: s.start(t, ""),
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key := "again-" + tt.name
			s.refused(t, tt.code, tt.refused.with("Idempotency-Key", key))
			if n := one[int64](t, s, `SELECT count(*) FROM idempotency_keys WHERE key = $1`, key); n != 0 {
				t.Fatalf("keys after the refusal = %d, want 0", n)
			}
			s.exec(t, tt.mend)
			first := s.must(t, http.StatusCreated, tt.then.with("Idempotency-Key", key))
			wantHeader(t, first, map[string]string{"Idempotent-Replayed": ""})
			wantReplay(t, first, s.do(t, tt.then.with("Idempotency-Key", key)))
		})
	}
}
