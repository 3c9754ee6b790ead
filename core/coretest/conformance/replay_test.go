package conformance

import (
	"bytes"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func (s *site) testReplay(t *testing.T) {
	t.Helper()
	t.Run("Headers", s.testHeadersOfReplays)
	t.Run("After", s.testLateReplays)
}

func (s *site) testHeadersOfReplays(t *testing.T) {
	t.Parallel()
	c := s.start(t).with("Request-Id", "the-first")
	first := s.created(t, c)
	again := s.on(t, s.other, c.with("Request-Id", "the-second"))
	program.WantReplay(t, again, first)
	for _, tt := range []struct {
		name          string
		answer        program.Answer
		header, wants string
	}{
		{"TheFirstAnswerIsNoReplay", first, "Idempotent-Replayed", ""},
		{"TheFirstAnswerHasNoOriginal", first, "Original-Request-Id", ""},
		{"TheFirstAnswerRepeatsTheKey", first, "Idempotency-Key", c.header.Get("Idempotency-Key")},
		{"TheFirstAnswerNamesTheRun", first, "Location", "/api/runs/" + first.Run(t).String() + "/"},
		{"ARepetitionSaysSo", again, "Idempotent-Replayed", "true"},
		{"ARepetitionNamesTheFirstRequest", again, "Original-Request-Id", "the-first"},
		{"ARepetitionHasARequestIDOfItsOwn", again, "Request-Id", "the-second"},
		{"ARepetitionRepeatsTheKey", again, "Idempotency-Key", c.header.Get("Idempotency-Key")},
		{"ARepetitionIsOfTheSameType", again, "Content-Type", first.Header.Get("Content-Type")},
		{"ARepetitionSetsNoCookie", again, "Set-Cookie", ""},
		{"ARepetitionIsNotKeptByCaches", again, "Cache-Control", "no-store"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.answer.Header.Get(tt.header); got != tt.wants {
				t.Errorf("%s = %q, want %q", tt.header, got, tt.wants)
			}
		})
	}

	t.Run("AllSayWhenTheKeyEnds", func(t *testing.T) {
		t.Parallel()
		ends, err := http.ParseTime(first.Header.Get("Idempotency-Expires"))
		if rest := time.Until(ends); err != nil || rest > 24*time.Hour || rest < 24*time.Hour-program.Patience {
			t.Errorf("Idempotency-Expires = %q, want a date in 24 hours", first.Header.Get("Idempotency-Expires"))
		}
	})
}

// testLateReplays are replays after something has happened that a retry must not notice.
func (s *site) testLateReplays(t *testing.T) {
	t.Parallel()

	t.Run("TheRunHasEnded", func(t *testing.T) {
		t.Parallel()
		c := s.start(t)
		first := s.created(t, c)
		s.completed(t, first, s.Harbour.Tokens.Viewer)
		s.replayed(t, c, first)
		if !bytes.Contains(first.Body, []byte(`"state":"PENDING"`)) {
			t.Errorf("answer = %s, want the run as it was at first", first.Body)
		}
	})

	for name, end := range map[string]struct {
		signal syscall.Signal
		code   int
	}{
		"TheServerWasStopped": {syscall.SIGTERM, 0}, "TheServerWasKilled": {syscall.SIGKILL, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, c := program.Serve(t, s.Settings), s.start(t)
			first := s.on(t, server, c)
			program.WantCreated(t, first)
			server.Signal(t, end.signal)
			if got := server.ExitCode(t); got != end.code {
				t.Errorf("exit code = %d, want %d", got, end.code)
			}
			s.replayed(t, c, first)
			server = server.Again(t, s.Settings)
			program.WantReplay(t, s.on(t, server, c), first)
			s.completed(t, first, s.Harbour.Tokens.Viewer)
			program.WantReplay(t, s.on(t, server, c), first)
			s.wantRuns(t, t.Name(), 1)
		})
	}

	t.Run("ItsDocumentAndFindingsWerePurged", func(t *testing.T) {
		t.Parallel()
		c := s.start(t).to(startReadings).csv(string(program.Sample(t, "bad/meter-readings.csv")))
		first := s.created(t, c)
		s.completed(t, first, s.Harbour.Tokens.Viewer)
		rerun := s.rerunOf(first).key(t.Name())
		again := s.created(t, rerun)
		s.completed(t, again, s.Harbour.Tokens.Viewer)
		s.age(t, first, again)
		s.command(t, "admin", "purge")
		if got := program.Count(t, s.DB, `
			SELECT count(*) FROM validation_runs
			WHERE id IN ($1, $2) AND content_purged_at IS NOT NULL AND findings_purged_at IS NOT NULL`,
			first.Run(t), again.Run(t)); got != 2 {
			t.Errorf("purged runs = %d, want 2", got)
		}
		s.replayed(t, c, first)
		s.replayed(t, rerun, again)
		s.refused(t, rerun.key(t.Name()+"-new"), api.CodeDocumentGone)
		s.wantNothing(t, t.Name()+"-new")
	})

	t.Run("TheWorkflowHasANewVersion", func(t *testing.T) {
		t.Parallel()
		s.created(t, creation("new-version").by(s.Harbour.Tokens.Owner))
		c := s.start(t).to("/api/workflows/new-version/start/")
		first := s.created(t, c)
		s.created(t, versionOf("new-version", "floor").by(s.Harbour.Tokens.Owner))
		s.replayed(t, c, first)
	})

	t.Run("TheWorkflowWasDeactivated", func(t *testing.T) {
		t.Parallel()
		s.created(t, creation("deactivated").by(s.Harbour.Tokens.Owner))
		c := s.start(t).to("/api/workflows/deactivated/start/")
		first := s.created(t, c)
		program.Change(t, s.DB, `UPDATE workflows SET is_active = false WHERE slug = 'deactivated'`)
		s.refused(t, c.key(t.Name()+"-new"), api.CodeWorkflowInactive)
		s.replayed(t, c, first)
	})
}

// age lets a year pass since the runs.
func (s *site) age(tb testing.TB, answers ...program.Answer) {
	tb.Helper()
	for _, a := range answers {
		program.Change(tb, s.DB, `
			UPDATE validation_runs SET created_at = created_at - interval '1 year',
				started_at = started_at - interval '1 year', ended_at = ended_at - interval '1 year'
			WHERE id = $1`, a.Run(tb))
	}
}

// rerunOf is a repetition of a run by the test's organization.
func (s *site) rerunOf(first program.Answer) call {
	return call{method: http.MethodPost, path: strings.TrimSuffix(first.Header.Get("Location"), "/") + "/rerun/"}.
		by(s.Harbour.Tokens.Executor)
}

// versionOf is a new version of a workflow, for documents with the member.
func versionOf(slug, member string) call {
	return call{method: http.MethodPost, path: "/api/workflows/" + slug + "/versions/"}.
		json(`{"definition":` + definition(member) + `}`)
}
