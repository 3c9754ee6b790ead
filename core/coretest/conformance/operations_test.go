package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// operation is one that takes keys.
type operation struct {
	name string
	// call is a good request, and other is another good one for the same operation.
	call, other call
	// bad is refused.
	bad  call
	code api.Code
}

// operations makes requests for every operation that takes keys. The tag keeps what they make apart.
func (s *site) operations(t *testing.T, o organization, tag string) []operation {
	t.Helper()
	earlier := s.created(t, s.startIn(t, o).key(t.Name()+tag+"-earlier"))
	earliest := s.created(t, s.startIn(t, o).key(t.Name()+tag+"-earliest"))
	start, version := s.startIn(t, o), versionOf("site-report", "site").by(o.owner)
	rerun := s.rerunOf(earlier).by(o.owner)
	return []operation{
		{"Start", start, start.json(`{"site":"B"}`), start.json(""), api.CodeInvalidPayload},
		{"Rerun", rerun, rerun.to(s.rerunOf(earliest).path), rerun.to("/api/runs/unknown/rerun/"), api.CodeNotFound},
		{
			"CreateWorkflow", creation(tag).by(o.owner), creation(tag + "-other").by(o.owner),
			creation(tag).json("{}").by(o.owner), api.CodeInvalidPayload,
		},
		{
			"CreateVersion", version, versionOf("site-report", "floor").by(o.owner),
			version.json("{}"), api.CodeInvalidPayload,
		},
		{
			"ImportWorkflow", importOf(tag + "-file").by(o.owner), importOf(tag + "-file-other").by(o.owner),
			importOf("Not a slug").by(o.owner), api.CodeInvalidPayload,
		},
		{
			"InviteMember", addition(tag + "@harbour-energy.example").by(o.owner),
			addition(tag + "-other@harbour-energy.example").by(o.owner), addition("nobody").by(o.owner),
			api.CodeInvalidPayload,
		},
	}
}

// testOperations has what holds alike for everything that takes keys.
func (s *site) testOperations(t *testing.T) {
	t.Helper()
	for _, tt := range []struct {
		name string
		test func(*testing.T, operation)
	}{
		{"DoneOnce", s.testDoneOnce},
		{"OtherRequestRefused", s.testOtherRefused},
		{"InProgress", s.testInProgress},
		{"TwentyAtOnce", s.testTwentyAtOnce},
		{"RefusedThenCorrected", s.testCorrected},
		{"ExpiredIsNew", s.testExpired},
		{"MalformedKeys", s.testMalformed},
		{"AuthorizedAnew", s.testAuthorizedAnew},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, op := range s.operations(t, s.harbour(), strings.ToLower(tt.name)) {
				t.Run(op.name, func(t *testing.T) {
					t.Parallel()
					op.call, op.other = op.call.key(t.Name()), op.other.key(t.Name())
					op.bad = op.bad.key(t.Name())
					tt.test(t, op)
				})
			}
		})
	}

	t.Run("KeysOfTheirOwn", func(t *testing.T) {
		t.Parallel()
		ops := s.operations(t, s.harbour(), "own")
		first := make([]program.Answer, len(ops))
		for i, op := range ops {
			first[i] = s.created(t, op.call.key(t.Name()))
		}
		for i, op := range ops {
			s.replayed(t, op.call.key(t.Name()), first[i])
		}
	})
}

// requestID is the test's name in signs that a request id may have.
func requestID(t *testing.T) string {
	t.Helper()
	return strings.ReplaceAll(t.Name(), "/", "-")
}

// wantDone demands that requests with the test's request id have changed something so often.
func (s *site) wantDone(t *testing.T, want int) {
	t.Helper()
	if got := program.Count(t, s.DB, "SELECT count(*) FROM audit_records WHERE request_id = $1",
		requestID(t)); got != want {
		t.Errorf("changes = %d, want %d", got, want)
	}
}

func (s *site) testDoneOnce(t *testing.T, op operation) {
	t.Helper()
	c := op.call.with("Request-Id", requestID(t))
	first := s.created(t, c)
	if first.Header.Get("Idempotency-Expires") == "" {
		t.Errorf("headers = %v, want Idempotency-Expires", first.Header)
	}
	for range 5 {
		s.replayed(t, c, first)
	}
	s.replayed(t, c.key(`"`+t.Name()+`"`), first)
	s.replayed(t, c.to(strings.TrimSuffix(c.path, "/")), first)
	s.wantDone(t, 1)
}

func (s *site) testOtherRefused(t *testing.T, op operation) {
	t.Helper()
	first := s.created(t, op.call.with("Request-Id", requestID(t)))
	p := s.refused(t, op.other.with("Request-Id", requestID(t)), api.CodeKeyReused).Problem()
	if len(p.Differs) != 1 || p.OriginalRequestID != requestID(t) || p.Retryable {
		t.Errorf("problem = %+v, want one that says what differs from which request", p)
	}
	s.replayed(t, op.call, first)
	s.created(t, op.other.key(t.Name()+"-other"))
	s.wantDone(t, 1)
}

// testInProgress makes a key look as it does while its request is between two phases.
func (s *site) testInProgress(t *testing.T, op operation) {
	t.Helper()
	s.created(t, op.call.with("Request-Id", requestID(t)))
	program.Change(t, s.DB, `UPDATE idempotency_keys SET recovery_point = 'between', response_status = NULL,
		response_headers = NULL, response_body = NULL, finished_at = NULL, locked_until = now() + interval '1 minute'
		WHERE key = $1`, t.Name())
	for _, server := range []*program.Server{s.one, s.other} {
		wantComeAgain(t, s.on(t, server, op.call))
	}
	s.refused(t, op.other, api.CodeKeyReused)
	program.Change(t, s.DB, "DELETE FROM idempotency_keys WHERE key = $1", t.Name())
	s.wantDone(t, 1)
}

func (s *site) testTwentyAtOnce(t *testing.T, op operation) {
	t.Helper()
	const requests = 20
	c := op.call.with("Request-Id", requestID(t))
	first := wantOneFirst(t, s.atOnce(t, slices.Repeat([]call{c}, requests)))
	s.replayed(t, c, first.answer)
	s.wantDone(t, 1)
}

func (s *site) testCorrected(t *testing.T, op operation) {
	t.Helper()
	s.refused(t, op.bad.with("Request-Id", requestID(t)), op.code)
	s.wantDone(t, 0)
	s.wantNothing(t, t.Name())
	first := s.created(t, op.call.with("Request-Id", requestID(t)))
	s.replayed(t, op.call, first)
	s.wantDone(t, 1)
}

func (s *site) testExpired(t *testing.T, op operation) {
	t.Helper()
	first := s.created(t, op.call)
	s.expire(t, t.Name())
	second := s.created(t, op.other)
	if bytes.Equal(second.Body, first.Body) {
		t.Errorf("answer = %s again, want a new one", second.Body)
	}
	s.replayed(t, op.other, second)
	s.refused(t, op.call, api.CodeKeyReused)
}

func (s *site) testMalformed(t *testing.T, op operation) {
	t.Helper()
	c := op.call.with("Request-Id", requestID(t))
	s.refused(t, c.key(""), api.CodeKeyInvalid)
	s.refused(t, c.key(`"unterminated`), api.CodeKeyInvalid)
	s.refused(t, c.key(strings.Repeat("k", 256)), api.CodeKeyTooLong)
	s.refused(t, c.with("Idempotency-Key", "a", "b"), api.CodeKeyInvalid)
	s.wantDone(t, 0)
}

func (s *site) testAuthorizedAnew(t *testing.T, op operation) {
	t.Helper()
	first := s.created(t, op.call)
	s.refused(t, op.call.without("Authorization"), api.CodeNotAuthenticated)
	s.refused(t, op.call.by(s.Harbour.Tokens.Viewer), api.CodePermissionDenied)
	s.replayed(t, op.call, first)
}
