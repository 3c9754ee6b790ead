package config_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest/validator"
	"github.com/simplevalidations/simplevalidations/validations"
	"github.com/simplevalidations/simplevalidations/validations/web"
)

// externalStage is a stage with an external validator behind harbour's workflow "external".
type externalStage struct {
	*stage

	validator *validator.Server
	secret    string
}

func setupExternal(tb testing.TB) externalStage {
	tb.Helper()
	s := externalStage{stage: setup(tb, func(settings *config.Settings) {
		settings.ExternalAllow = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		settings.BaseURL = "https://validations.example/"
	})}
	answer := s.must(tb, http.StatusOK, call{path: "/api/signing-secret/", token: s.Harbour.Tokens.Owner})
	s.secret = decoded[web.SecretBody](tb, answer).Secret
	s.validator = validator.New(s.secret)
	listener := httptest.NewServer(s.validator)
	tb.Cleanup(listener.Close)
	s.must(tb, http.StatusCreated, call{
		method: http.MethodPost, path: "/api/workflows/", token: s.Harbour.Tokens.Owner,
		header: http.Header{"Content-Type": {"application/json"}},
		body: `{"slug":"external","name":"External","is_active":true,"definition":{"accepts":["text/csv"],"steps":[
			{"id":"check","name":"Check","type":"http","config":{"url":"` + listener.URL + `",
				"callback_timeout_seconds":600}}]}}`,
	})
	return s
}

// run starts a run of the workflow and executes it as far as it goes.
func (s externalStage) run(tb testing.TB) string {
	tb.Helper()
	run := s.started(tb, s.start(tb, "").to("/api/workflows/external/start/"))
	s.work(tb)
	return "/api/runs/" + run.ID.String() + "/"
}

// callback is the last call's, signed with the secret at the time.
func (s externalStage) callback(tb testing.TB, answer, secret string, at time.Time) call {
	tb.Helper()
	calls := s.validator.Calls()
	address, err := url.Parse(calls[len(calls)-1].Callback.URL)
	if err != nil || address.Scheme != "https" || address.Host != "validations.example" {
		tb.Fatalf("callback address = %s, %v, want one at the base URL", address, err)
	}
	signer := core.NewSigner(at, []byte(secret))
	_, _ = signer.Write([]byte(answer)) // It never fails.
	return call{
		method: http.MethodPost, path: address.Path, body: answer,
		header: http.Header{"Content-Type": {"application/json"}, core.HeaderSignature: {signer.Header()}},
	}
}

func TestExternalValidator(t *testing.T) {
	t.Parallel()

	t.Run("AnswersAtOnce", func(t *testing.T) {
		t.Parallel()
		s := setupExternal(t)
		s.validator.Script(validator.Fail)
		got := decoded[validations.RunBody](t, s.must(t, http.StatusOK,
			call{path: s.run(t), token: s.Harbour.Tokens.Viewer}))
		if got.Result != validations.ResultFail || got.Steps[0].Issues[0].Code != "external.demo.wrong" {
			t.Errorf("run = %+v, want FAIL with external.demo.wrong", got)
		}
	})

	t.Run("AnswersLater", func(t *testing.T) {
		t.Parallel()
		s := setupExternal(t)
		s.validator.Usually(validator.Promise)
		run := call{path: s.run(t), token: s.Harbour.Tokens.Viewer}
		waiting := decoded[validations.RunBody](t, s.must(t, http.StatusOK, run))
		if waiting.State != validations.StateRunning || waiting.Steps[0].Status != validations.StepRunning {
			t.Errorf("run = %+v, want it running with its step", waiting)
		}
		now := time.Now()
		s.refused(t, core.CodeSignatureInvalid, s.callback(t, validator.AnswerOf(true), "forged", now))
		s.refused(t, core.CodeSignatureInvalid,
			s.callback(t, validator.AnswerOf(true), s.secret, now.Add(-10*time.Minute)))
		unsigned := s.callback(t, validator.AnswerOf(true), s.secret, now)
		unsigned.header.Del(core.HeaderSignature)
		got := s.do(t, unsigned)
		wantProblem(t, got, core.CodeSignatureInvalid)
		wantHeader(t, got, map[string]string{"WWW-Authenticate": core.HeaderSignature})
		s.refused(t, core.CodeInvalidPayload, s.callback(t, `{"result":"MAYBE"}`, s.secret, now))
		s.refused(t, core.CodePayloadTooLarge, s.callback(t, strings.Repeat(" ", 1<<20)+"{}", s.secret, now))
		s.refused(t, core.CodeUnsupportedMediaType,
			s.callback(t, validator.AnswerOf(true), s.secret, now).with("Content-Type", "text/plain"))
		s.refused(t, core.CodeNotFound,
			s.callback(t, validator.AnswerOf(true), s.secret, now).to("/api/callbacks/"+unknownID+"/"))
		for _, accepted := range []bool{true, false} {
			got := s.must(t, http.StatusOK, s.callback(t, validator.AnswerOf(true), s.secret, now))
			if decoded[web.CallbackBody](t, got).Accepted != accepted {
				t.Errorf("callback = %s, want accepted = %t", got.body, accepted)
			}
		}
		s.work(t)
		if got := decoded[validations.RunBody](t, s.must(t, http.StatusOK, run)); got.Result != validations.ResultPass {
			t.Errorf("run = %+v, want PASS", got)
		}
	})
}

func TestSigningSecret(t *testing.T) {
	t.Parallel()
	s := setup(t)
	read := func(token string) web.SecretBody {
		return decoded[web.SecretBody](t, s.must(t, http.StatusOK,
			call{path: "/api/signing-secret/", token: token}))
	}
	c := s.console(t)
	first := read(s.Harbour.Tokens.Owner)
	code, shown, complaint := c.run(t, "signing-secret", "show", "--org", "harbour-energy")
	if code != 0 || shown != first.Secret+"\n" {
		t.Errorf("signing-secret show = %d %q, want the secret; %s", code, shown, complaint)
	}
	code, rotated, complaint := c.run(t, "signing-secret", "rotate", "--org", "harbour-energy")
	if code != 0 || rotated == shown {
		t.Errorf("signing-secret rotate = %d, want another secret; %s", code, complaint)
	}
	want := web.SecretBody{Secret: strings.TrimSpace(rotated), Previous: core.Optional(first.Secret)}
	if got := read(s.Harbour.Tokens.Owner); got != want {
		t.Error("the API does not show the rotated secret with the previous one")
	}
	if read(s.Tiny.Tokens.Owner).Secret == want.Secret {
		t.Error("two organizations have one secret")
	}
	if code, _, _ := c.run(t, "signing-secret", "show", "--org", "nobody"); code == 0 {
		t.Error("signing-secret show of no organization = 0")
	}
}
