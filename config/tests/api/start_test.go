package api

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestStart(t *testing.T) {
	t.Parallel()
	s := setup(t)
	before := time.Now().Add(-time.Second)
	call := s.Start(t, "first").With("Request-Id", "req-1").With("X-Filename", "readings.csv")
	got := s.Must(t, http.StatusCreated, call)
	run := fixture.Decoded[api.Run](t, got)

	t.Run("AnswersWithThePendingRun", func(t *testing.T) {
		t.Parallel()
		written := `"created_at":"` + run.CreatedAt.UTC().Format("2006-01-02T15:04:05.000Z") + `"`
		if run.CreatedAt.Before(before) || !bytes.Contains(got.Body, []byte(written)) {
			t.Errorf("answer = %s, want a time of now with milliseconds in UTC in it", got.Body)
		}
		want := api.Run{
			ID: run.ID, Workflow: s.Harbour.Workflows[1].ID.String(), WorkflowSlug: "meter-readings",
			WorkflowVersion: 1, Submission: run.Submission, Org: "harbour-energy", Source: "API", State: "PENDING",
			Result: "UNKNOWN", Status: "PENDING", IdempotencyKey: "first", CreatedAt: run.CreatedAt,
			Steps: []api.Step{{
				StepID: run.Steps[0].StepID, Name: "Table", Status: "PENDING", Issues: []api.Issue{},
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
		expires := coretest.One[time.Time](t, s.DB, `SELECT expires_at FROM idempotency_keys WHERE key = 'first'`)
		fixture.WantHeader(t, got, map[string]string{
			"Location": "/api/runs/" + run.ID + "/", "Content-Type": "application/json",
			"Idempotency-Key": "first", "Request-Id": "req-1", "Cache-Control": "no-store",
			"Idempotent-Replayed": "", "Original-Request-Id": "", "Set-Cookie": "",
			"Idempotency-Expires": expires.UTC().Format(http.TimeFormat),
		})
		s.Must(t, http.StatusOK, call.To(got.Header.Get("Location")).Get())
	})

	t.Run("LeavesOneRowOfEach", func(t *testing.T) {
		t.Parallel()
		want := fixture.RowCounts{Keys: 1, Submissions: 1, Runs: 1, Jobs: 1, Audits: 1, Used: 1}
		if diff := cmp.Diff(want, s.RowCounts(t)); diff != "" {
			t.Errorf("rows (-want +got):\n%s", diff)
		}
		coretest.WantRow(t, s.DB, coretest.Row{
			"state": "PENDING", "result": "UNKNOWN", "epoch": "1", "attempts": "0", "lease_until": "NULL",
			"swept_later": "t", "request_id": "req-1", "source": "API", "usage_metric": "runs", "of_this_month": "t",
		}, `SELECT state, result, epoch, attempts, lease_until, sweep_after > created_at AS swept_later, request_id,
				source, usage_metric, usage_period = date_trunc('month', now() AT TIME ZONE 'UTC') AS of_this_month
			FROM validation_runs WHERE id = $1`, run.ID)
		coretest.WantRow(t, s.DB, coretest.Row{
			"kind": "validations.execute", "org_id": s.Harbour.ID.String(), "subject_id": run.ID, "epoch": "1",
		}, `SELECT kind, org_id, subject_id, epoch FROM staged_jobs`)
		s.WantAudit(t, "run.start", "run", run.ID, "req-1", "")
	})

	t.Run("StoresTheAnswerByteForByte", func(t *testing.T) {
		t.Parallel()
		stored := coretest.One[[]byte](t, s.DB, `SELECT response_body FROM idempotency_keys WHERE key = 'first'`)
		if !bytes.Equal(stored, got.Body) {
			t.Errorf("stored body = %s, want %s", stored, got.Body)
		}
		coretest.WantRow(t, s.DB, coretest.Row{
			"response_status": "201", "recovery_point": "finished", "locked_until": "NULL",
			"validation_run_id": run.ID, "request_id": "req-1", "request_method": "POST",
			"request_path": "/api/workflows/meter-readings/start/", "endpoint": "workflow_start",
			"ip": "127.0.0.1", "client": "Go-http-client", "lifetime": "1 day", "of_the_run": "t",
		}, `SELECT response_status, recovery_point, locked_until, validation_run_id, request_id, request_method,
				request_path, endpoint, host(request_ip) AS ip, split_part(user_agent, '/', 1) AS client,
				expires_at - created_at AS lifetime,
				id = (SELECT idempotency_key_id FROM validation_runs) AS of_the_run
			FROM idempotency_keys`)
		if headers := coretest.One[string](t, s.DB, `SELECT string_agg(h, ',' ORDER BY h)
			FROM idempotency_keys, json_object_keys(response_headers) AS h`); headers != "content_type,location" {
			t.Errorf("stored headers = %s, want content_type and location alone", headers)
		}
	})
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
			coretest.WantRow(t, s.DB, coretest.Row{
				"size":   strconv.Itoa(len(tt.want.Content)),
				"sha256": fmt.Sprintf(`\x%x`, sha256.Sum256([]byte(tt.want.Content))),
			}, `SELECT size, sha256 FROM submissions WHERE id = $1`, run.Submission)
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
		{"/api/workflows/meter%2Dreadings/st%61rt", 2},
		{"/api/workflows/" + id + "/start/", 2},
		{"/api/workflows/" + id + "/start", 2},
		{"/api/workflows/meter-readings/start/?version=1", 1},
		{"/api/workflows/" + id + "/start?version=2", 2},
	} {
		t.Run(strings.ReplaceAll(tt.path, id, "id"), func(t *testing.T) {
			t.Parallel()
			run := s.Started(t, s.Start(t, "").To(tt.path))
			if run.Workflow != id || run.WorkflowVersion != tt.version {
				t.Errorf("workflow = %s version %d, want %s version %d", run.Workflow, run.WorkflowVersion, id,
					tt.version)
			}
		})
	}
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

func (s *stage) submission(tb testing.TB, id string) storedSubmission {
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
