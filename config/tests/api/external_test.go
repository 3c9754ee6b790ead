package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
)

// externalStage is a stage with an external validator behind harbour's workflow "external".
type externalStage struct {
	*stage

	validator *outside.Validator
	origin    string
	secret    string
}

func setupExternal(tb testing.TB) externalStage {
	tb.Helper()
	s := externalStage{stage: setup(tb, func(settings *config.Settings) {
		settings.ExternalAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		settings.BaseURL = "https://validations.example/"
	})}
	listener := httptest.NewUnstartedServer(nil)
	s.origin = "http://" + listener.Listener.Addr().String()
	s.Must(tb, http.StatusCreated, call{
		Method: http.MethodPost, Path: "/api/workflows/", Token: s.Harbour.Tokens.Owner,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body: `{"slug":"external","name":"External","is_active":true,"definition":{"accepts":["text/csv"],"steps":[
			{"id":"check","name":"Check","type":"http","config":{"url":"` + s.origin + `/roofs",
				"callback_timeout_seconds":600}}]}}`,
	})
	s.secret = s.signingSecrets(tb, s.Harbour.Tokens.Owner)[0].Secret
	s.validator = outside.NewValidator(s.secret)
	listener.Config.Handler = s.validator
	listener.Start()
	tb.Cleanup(listener.Close)
	return s
}

// signingSecrets are those that the token may read.
func (s externalStage) signingSecrets(tb testing.TB, token string) []api.SigningSecret {
	tb.Helper()
	answer := s.Must(tb, http.StatusOK, call{Path: "/api/signing-secrets/", Token: token})
	return fixture.Decoded[api.SigningSecrets](tb, answer).Validators
}

// run starts a run of the workflow and executes it as far as it goes.
func (s externalStage) run(tb testing.TB) string {
	tb.Helper()
	run := s.Started(tb, s.Start(tb, "").To("/api/workflows/external/start/"))
	s.Work(tb)
	return "/api/runs/" + run.ID + "/"
}

// callback is the last call's, signed with the secret at the time.
func (s externalStage) callback(tb testing.TB, answer, secret string, at time.Time) call {
	tb.Helper()
	calls := s.validator.Calls()
	address, err := url.Parse(calls[len(calls)-1].Callback.URL)
	if err != nil || address.Scheme != "https" || address.Host != "validations.example" {
		tb.Fatalf("callback address = %s, %v, want one at the base URL", address, err)
	}
	signature := outside.SignCallback(calls[len(calls)-1].Request, answer, secret, at)
	return call{
		Method: http.MethodPost, Path: address.Path, Body: answer,
		Header: http.Header{"Content-Type": {"application/json"}, core.HeaderSignature: {signature}},
	}
}

func TestExternalValidator(t *testing.T) {
	t.Parallel()

	t.Run("AnswersAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setupExternal(t)
		s.validator.Script(outside.Fail)
		got := read[api.Run](t, s.stage, s.run(t))
		if got.Result != api.RunResultFail || got.Steps[0].Issues[0].Code != "external.demo.wrong" {
			t.Errorf("run = %+v, want FAIL with external.demo.wrong", got)
		}
	})

	t.Run("AnswersLater", func(t *testing.T) {
		t.Parallel()
		s := setupExternal(t)
		s.validator.Usually(outside.Promise)
		run := s.reading(s.run(t))
		waiting := fixture.Decoded[api.Run](t, s.Must(t, http.StatusOK, run))
		if waiting.State != api.RunStateRunning || waiting.Steps[0].Status != api.StepStatusRunning {
			t.Errorf("run = %+v, want it running with its step", waiting)
		}
		now := time.Now()
		s.Refused(t, api.CodeSignatureInvalid,
			s.callback(t, outside.AnswerOf(true), s.secret, now.Add(-10*time.Minute)))
		unsigned := s.callback(t, outside.AnswerOf(true), s.secret, now)
		unsigned.Header.Del(core.HeaderSignature)
		got := s.Do(t, unsigned)
		fixture.WantProblem(t, got, api.CodeSignatureInvalid)
		fixture.WantHeader(t, got, map[string]string{"WWW-Authenticate": core.HeaderSignature})
		s.Refused(t, api.CodePayloadTooLarge, s.callback(t, strings.Repeat(" ", 1<<20)+"{}", s.secret, now))
		for _, accepted := range []bool{true, false} {
			got := s.Must(t, http.StatusOK, s.callback(t, outside.AnswerOf(true), s.secret, now))
			if fixture.Decoded[api.CallbackReceipt](t, got).Accepted != accepted {
				t.Errorf("callback = %s, want accepted = %t", got.Body, accepted)
			}
		}
		s.Work(t)
		if got := fixture.Decoded[api.Run](t,
			s.Must(t, http.StatusOK, run)); got.Result != api.RunResultPass {
			t.Errorf("run = %+v, want PASS", got)
		}
	})
}

func TestSigningSecrets(t *testing.T) {
	t.Parallel()
	s := setupExternal(t)
	c := s.Console(t)
	owner := s.Harbour.Tokens.Owner
	first := s.signingSecrets(t, owner)
	if len(first) != 1 || first[0].Origin != s.origin || first[0].Previous != "" {
		t.Fatalf("secrets = %+v, want the one of %s", first, s.origin)
	}
	show := []string{"signing-secret", "--org", "harbour-energy"}
	code, listed, complaint := c.Run(t, show...)
	if code != 0 || strings.Join(strings.Fields(listed), " ") != s.origin+" "+first[0].Secret {
		t.Errorf("signing-secret = %d %q, want the origin and the secret; %s", code, listed, complaint)
	}
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM audit_records WHERE action = 'signing_secret.read'
		AND org_id = $1 AND actor_id IS NULL`, s.Harbour.ID); n != 1 {
		t.Errorf("records of the operator who has read the secrets = %d, want 1", n)
	}
	code, shown, complaint := c.Run(t, append(show, "--validator", s.origin+"/another?path")...)
	if code != 0 || shown != first[0].Secret+"\n" {
		t.Errorf("signing-secret --validator = %d %q, want the secret; %s", code, shown, complaint)
	}
	code, other, complaint := c.Run(t, append(show, "--validator", "https://checks.example")...)
	if code != 0 || other == shown {
		t.Errorf("signing-secret --validator = %d, want another secret; %s", code, complaint)
	}
	if code, _, _ := c.Run(t, append(show, "--validator", "nonsense")...); code != 2 {
		t.Errorf("signing-secret of no address = %d, want 2", code)
	}
	if code, _, _ := c.Run(t, append(show, "--validator", s.origin, "--rotate")...); code != 2 {
		t.Errorf("signing-secret --rotate of one validator = %d, want 2", code)
	}
	c.Must(t, append(show, "--rotate")...)
	if got := s.signingSecrets(t, owner)[0]; got.Secret == first[0].Secret || string(got.Previous) != first[0].Secret {
		t.Error("the API does not show another secret with the previous one after a rotation")
	}
	if got := s.signingSecrets(t, s.Tiny.Tokens.Owner); len(got) != 0 {
		t.Errorf("secrets of an organization without validators = %+v, want none", got)
	}
	if code, _, _ := c.Run(t, "signing-secret", "--org", "nobody"); code == 0 {
		t.Error("signing-secret of no organization = 0")
	}
}
