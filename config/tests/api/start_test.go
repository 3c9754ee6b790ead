package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/validations"
)

func TestStart(t *testing.T) {
	t.Parallel()
	s := setup(t)
	before := time.Now().Add(-time.Second)
	call := s.Start(t, "first").With("Request-Id", "req-1").With("X-Filename", "readings.csv")
	got := s.Must(t, http.StatusCreated, call)
	run := fixture.Decoded[validations.RunBody](t, got)

	t.Run("AnswersWithThePendingRun", func(t *testing.T) {
		t.Parallel()
		createdAt, err := time.Parse("2006-01-02T15:04:05.000Z", run.CreatedAt)
		if err != nil || createdAt.Before(before) {
			t.Errorf("created_at = %q, want a time of now with milliseconds", run.CreatedAt)
		}
		want := validations.RunBody{
			ID: run.ID, Workflow: s.Harbour.Workflows[1].ID, WorkflowSlug: "meter-readings", WorkflowVersion: 1,
			Submission: run.Submission, Org: "harbour-energy", Source: "API", State: "PENDING", Result: "UNKNOWN",
			Status: "PENDING", IdempotencyKey: "first", CreatedAt: run.CreatedAt,
			Steps: []validations.StepBody{{
				StepID: run.Steps[0].StepID, Name: "Table", Status: "PENDING", Issues: []validations.IssueBody{},
			}},
		}
		if diff := cmp.Diff(want, run); diff != "" {
			t.Errorf("run (-want +got):\n%s", diff)
		}
		absent := "rerun_of started_at ended_at content_purged_at findings_purged_at"
		if got := nullMembers(got.Body); got != absent {
			t.Errorf("null members = %s, want %s", got, absent)
		}
	})

	t.Run("SaysWhereTheRunIsAndHowLongTheKeyLives", func(t *testing.T) {
		t.Parallel()
		fixture.WantHeader(t, got, map[string]string{
			"Location": "/api/runs/" + run.ID.String() + "/", "Content-Type": "application/json",
			"Idempotency-Key": "first", "Request-Id": "req-1", "Cache-Control": "no-store",
			"Idempotent-Replayed": "", "Original-Request-Id": "", "Set-Cookie": "",
		})
		expires, err := http.ParseTime(got.Header.Get("Idempotency-Expires"))
		if err != nil || expires.Before(before.Add(24*time.Hour-time.Second)) ||
			expires.After(time.Now().Add(24*time.Hour+time.Second)) {
			t.Errorf("Idempotency-Expires = %q, want a date in 24 hours", got.Header.Get("Idempotency-Expires"))
		}
		s.Must(t, http.StatusOK, call.To(got.Header.Get("Location")).Get())
	})

	t.Run("LeavesOneRowOfEach", func(t *testing.T) {
		t.Parallel()
		want := fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1}
		if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		if !coretest.One[bool](t, s.DB, `SELECT state = 'PENDING' AND result = 'UNKNOWN' AND epoch = 1 AND attempts = 0
				AND lease_until IS NULL AND sweep_after > created_at AND request_id = 'req-1' AND source = 'API'
				AND usage_metric = 'runs' AND usage_period = date_trunc('month', now() AT TIME ZONE 'UTC')
			FROM validation_runs WHERE id = $1`, run.ID) {
			t.Error("the run is not a pending one of this request and month")
		}
		if !coretest.One[bool](t, s.DB,
			`SELECT kind = 'validations.execute' AND org_id = $1 AND subject_id = $2 AND epoch = 1
			FROM staged_jobs`, s.Harbour.ID, run.ID) {
			t.Error("the staged job is not that of the run")
		}
		if !coretest.One[bool](t, s.DB,
			`SELECT org_id = $1 AND target_type = 'run' AND target_id = $2 AND request_id = 'req-1'
				AND actor_id IS NOT NULL AND token_id IS NOT NULL
			FROM audit_records WHERE action = 'run.start'`, s.Harbour.ID, run.ID.String()) {
			t.Error("the audit record does not say who started the run")
		}
	})

	t.Run("StoresTheAnswerByteForByte", func(t *testing.T) {
		t.Parallel()
		stored := coretest.One[[]byte](t, s.DB, `SELECT response_body FROM idempotency_keys WHERE key = 'first'`)
		if !bytes.Equal(stored, got.Body) {
			t.Errorf("stored body = %s, want %s", stored, got.Body)
		}
		if !coretest.One[bool](t, s.DB,
			`SELECT response_status = 201 AND recovery_point = 'finished' AND locked_until IS NULL
				AND validation_run_id = $1 AND request_id = 'req-1' AND request_method = 'POST'
				AND request_path = '/api/workflows/meter-readings/start/' AND endpoint = 'workflow_start'
				AND host(request_ip) = '127.0.0.1' AND user_agent LIKE 'Go-http-client/%'
				AND expires_at - created_at = interval '24 hours'
				AND id = (SELECT idempotency_key_id FROM validation_runs)
			FROM idempotency_keys`, run.ID) {
			t.Error("the key's row does not describe the request and its answer")
		}
		if headers := coretest.One[string](t, s.DB, `SELECT string_agg(h, ',' ORDER BY h)
			FROM idempotency_keys, json_object_keys(response_headers) AS h`); headers != "content_type,location" {
			t.Errorf("stored headers = %s, want content_type and location alone", headers)
		}
	})
}

func TestStartWithoutKeyIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Must(t, http.StatusCreated, s.Start(t, ""))
	second := s.Must(t, http.StatusCreated, s.Start(t, ""))
	fixture.WantHeader(t, first, map[string]string{
		"Idempotency-Expires": "", "Idempotency-Key": "",
		"Cache-Control": "no-store",
	})
	if first.Header.Get("Location") == second.Header.Get("Location") {
		t.Error("two starts without a key are one run")
	}
	want := fixture.RowCounts{Submissions: 2, Runs: 2, Jobs: 2, Audits: 2, Used: 2}
	if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

// storedSubmission is a submission without its ids and times.
type storedSubmission struct {
	MediaType, Filename, Name, ShortDescription, Metadata, Content string
}

func TestStartTakesThreeForms(t *testing.T) {
	t.Parallel()
	s := setup(t)
	raw := s.Start(t, "")
	raw.Body = "a,b\n1,2\n"
	tests := []struct {
		name string
		call call
		want storedSubmission
	}{
		{
			name: "Raw", call: raw.With("X-Filename", "dir/a.csv"),
			want: storedSubmission{MediaType: "text/csv", Filename: "a.csv", Content: "a,b\n1,2\n"},
		},
		{
			name: "Envelope",
			call: raw.WithBody("application/json", `{"content":"a\n1\n","content_type":"text/csv","filename":"b.csv",`+
				`"metadata":{"n": 1.0},"short_description":"two\nlines"}`),
			want: storedSubmission{
				MediaType: "text/csv", Filename: "b.csv", ShortDescription: "two\nlines", Metadata: `{"n": 1.0}`,
				Content: "a\n1\n",
			},
		},
		{
			name: "EnvelopeInBase64",
			call: raw.WithBody("application/json; charset=UTF-8",
				`{"content":"AAEC","content_encoding":"base64","content_type":"text/csv"}`),
			want: storedSubmission{MediaType: "text/csv", Content: "\x00\x01\x02"},
		},
		{
			name: "EnvelopeOfAnObject",
			call: raw.To("/api/workflows/building/start/").WithBody("application/json", `{"content":{"b": [1.0]}}`),
			want: storedSubmission{MediaType: "application/json", Content: `{"b": [1.0]}`},
		},
		{
			name: "Multipart",
			call: raw.WithBody(form("XX",
				`name="file"; filename="c.csv"`, "text/csv", "a\n2\n", `name="name"`, "", "Third",
				`name="metadata"`, "", `{"a":"ä"}`)),
			want: storedSubmission{
				MediaType: "text/csv", Filename: "c.csv", Name: "Third", Metadata: `{"a":"ä"}`, Content: "a\n2\n",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run := s.Started(t, tt.call)
			if diff := cmp.Diff(tt.want, s.submission(t, run.Submission)); diff != "" {
				t.Errorf("submission (-want +got):\n%s", diff)
			}
			sum := sha256.Sum256([]byte(tt.want.Content))
			if !coretest.One[bool](t, s.DB, `SELECT size = $2 AND sha256 = $3 FROM submissions WHERE id = $1`,
				run.Submission, len(tt.want.Content), sum[:]) {
				t.Error("size or digest are not those of the content")
			}
		})
	}
}

func TestStartFindsItsWorkflow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	id := s.Harbour.Workflows[1].ID.String()
	s.AddVersion(t)
	for _, tt := range []struct {
		path    string
		version int
	}{
		{"/api/workflows/meter-readings/start/", 2},
		{"/api/workflows/meter-readings/start", 2},
		{"/api/workflows/" + id + "/start/", 2},
		{"/api/workflows/" + id + "/start", 2},
		{"/api/workflows/meter-readings/start/?version=1", 1},
		{"/api/workflows/" + id + "/start?version=2", 2},
	} {
		t.Run(strings.ReplaceAll(tt.path, id, "id"), func(t *testing.T) {
			t.Parallel()
			run := s.Started(t, s.Start(t, "").To(tt.path))
			if run.Workflow.String() != id || run.WorkflowVersion != tt.version {
				t.Errorf("workflow = %s version %d, want %s version %d", run.Workflow, run.WorkflowVersion, id,
					tt.version)
			}
		})
	}
	t.Run("IdAndSlugAreOneTarget", func(t *testing.T) {
		t.Parallel()
		first := s.Must(t, http.StatusCreated, s.Start(t, "target"))
		again := s.Must(t, http.StatusCreated, s.Start(t, "target").To("/api/workflows/"+id+"/start"))
		fixture.WantReplay(t, first, again)
	})
}

// form writes a multipart body: for each part its disposition, its type and its content.
func form(boundary string, parts ...string) (string, string) {
	var body strings.Builder
	for i := 0; i+2 < len(parts); i += 3 {
		fmt.Fprintf(&body, "--%s\r\nContent-Disposition: form-data; %s\r\n", boundary, parts[i])
		if parts[i+1] != "" {
			fmt.Fprintf(&body, "Content-Type: %s\r\n", parts[i+1])
		}
		fmt.Fprintf(&body, "\r\n%s\r\n", parts[i+2])
	}
	fmt.Fprintf(&body, "--%s--\r\n", boundary)
	return "multipart/form-data; boundary=" + boundary, body.String()
}

func (s *stage) submission(tb testing.TB, id uuid.UUID) storedSubmission {
	tb.Helper()
	rows, err := s.DB.Pool.Query(tb.Context(), `
		SELECT media_type, filename, name, short_description, metadata, content FROM submissions WHERE id = $1`, id)
	if err != nil {
		tb.Fatal(err)
	}
	found, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (storedSubmission, error) {
		var s storedSubmission
		var content []byte
		err := row.Scan(&s.MediaType, &s.Filename, &s.Name, &s.ShortDescription, &s.Metadata, &content)
		s.Content = string(content)
		return s, err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return found
}
