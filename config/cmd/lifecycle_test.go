package cmd_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

const harbourViewer = "viewer@harbour-energy.example"

// A disabled user may do nothing with what the user had: tokens that processes remember, sessions and the password.
func TestDisableUser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	const password = "correct horse battery staple"
	user, err := s.Users.Accounts.User(t.Context(), harbourViewer)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Users.SignIn.SetPassword(t.Context(), user.ID, password); err != nil {
		t.Fatal(err)
	}
	session := s.Session(t, user.ID)
	read := call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer}
	page := call{Path: fixture.HarbourPages}.In(session)
	s.Must(t, http.StatusOK, read)
	s.Visit(t, http.StatusOK, page)

	operator.Must(t, "user", "set", harbourViewer, "--disabled", "--reason", "left", "--dry-run")
	s.Must(t, http.StatusOK, read)
	operator.Must(t, "user", "set", harbourViewer, "--disabled", "--reason", "left")
	s.Refused(t, api.CodeNotAuthenticated, read)
	s.Visit(t, http.StatusSeeOther, page) // to the page for signing in
	// A session that began while the user was being disabled is none either.
	s.Exec(t, `UPDATE users SET disabled_at = NULL WHERE id = $1`, user.ID)
	page = page.In(s.Session(t, user.ID))
	s.Exec(t, `UPDATE users SET disabled_at = now() WHERE id = $1`, user.ID)
	s.Visit(t, http.StatusSeeOther, page)
	refusal := s.Visit(t, http.StatusUnauthorized, fixture.SignIn(harbourViewer, password))
	fixture.Shows(t, refusal, "account is disabled")
	if list := operator.Must(t, "user", "list"); !strings.Contains(list, "disabled since") {
		t.Errorf("list = %s, want the disabled user", list)
	}
	operator.Must(t, "user", "set", harbourViewer, "--disabled=false", "--reason", "is back")
	s.Must(t, http.StatusOK, read)
	actions := dbtest.One[string](t, s.DB, `SELECT string_agg(action || ': ' || detail, ', ' ORDER BY created_at)
		FROM audit_records WHERE action IN ('user.disable', 'user.enable')`)
	if want := "user.disable: left, user.enable: is back"; actions != want {
		t.Errorf("audit = %s, want %s", actions, want)
	}
}

func TestRevokeTokenAsOperator(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	read := call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer}
	s.Must(t, http.StatusOK, read)
	token := dbtest.One[string](t, s.DB, `SELECT t.id::text FROM api_tokens AS t JOIN users AS u ON u.id = t.user_id
		WHERE u.email = $1`, harbourViewer)
	if code, _, complaint := operator.Run(t, "admin", "token", "revoke", token, "--org", s.Tiny.Slug); code != 1 ||
		!strings.Contains(complaint, "no such token") {
		t.Errorf("revoke in another organization = %d %s, want no such token", code, complaint)
	}
	operator.Must(t, "admin", "token", "revoke", token, "--org", s.Harbour.Slug)
	s.Refused(t, api.CodeNotAuthenticated, read)
	if n := dbtest.One[int](t, s.DB, `SELECT count(*)::int FROM audit_records
		WHERE action = 'token.revoke' AND target_id = $1 AND actor_id IS NULL`, token); n != 1 {
		t.Errorf("audit records = %d, want 1", n)
	}
}

func TestExportUsage(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	s.Must(t, http.StatusCreated, s.Start(t, ""))
	s.Must(t, http.StatusCreated, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	s.Exec(t, `INSERT INTO usage_counters (org_id, metric, period_start, used) VALUES ($1, 'runs', '2020-02-01', 7)`,
		s.Tiny.ID)
	table, err := csv.NewReader(strings.NewReader(operator.Must(t, "org", "usage"))).ReadAll()
	if err != nil || len(table) != 4 {
		t.Fatalf("usage = %v, %v, want a header and 3 rows", table, err)
	}
	want := []string{"2020-02", s.Tiny.Slug, s.Tiny.ID.String(), "runs", "7", ""}
	if diff := cmp.Diff(want, table[1]); diff != "" {
		t.Errorf("first row (-want +got):\n%s", diff)
	}
	var row struct {
		Month        string `json:"month"`
		Organization string `json:"organization"`
		Used         int64  `json:"used"`
	}
	line := operator.Must(t, "org", "usage", "--to", "2020-12", "--format", "json")
	if err := json.Unmarshal([]byte(line), &row); err != nil || row.Month != "2020-02" || row.Used != 7 {
		t.Errorf("usage until 2020 = %s, %v, want one month", line, err)
	}
	if out := operator.Must(t, "org", "usage", "--from", "2999-01"); strings.Count(out, "\n") != 1 {
		t.Errorf("usage of the future = %s, want the header alone", out)
	}
	s.Must(t, http.StatusCreated, s.Start(t, "").To("/api/workflows/building/start/").
		WithBody("application/json", "{}"))
	table, err = csv.NewReader(strings.NewReader(operator.Must(t, "org", "usage", "--by-workflow"))).ReadAll()
	if err != nil || len(table) != 4 {
		t.Fatalf("usage by workflow = %v, %v, want a header and 3 rows", table, err)
	}
	used := make(map[string]string)
	for _, row := range table[1:] {
		used[row[1]+" "+row[4]] = row[6]
	}
	if diff := cmp.Diff(map[string]string{
		s.Harbour.Slug + " meter-readings": "1",
		s.Harbour.Slug + " building":       "1",
		s.Tiny.Slug + " meter-readings":    "1",
	}, used); diff != "" {
		t.Errorf("usage by workflow (-want +got):\n%s", diff)
	}
	line = operator.Must(t, "org", "usage", "--by-workflow", "--format", "json")
	if strings.Count(line, `"workflow":"building"`) != 1 || strings.Count(line, `"workflow_id"`) != 3 {
		t.Errorf("usage by workflow as JSON = %s, want a line for each workflow", line)
	}
	for _, wrong := range [][]string{{"--from", "January"}, {"--format", "xml"}} {
		if code, _, complaint := operator.Run(t, append([]string{"org", "usage"}, wrong...)...); code != 2 {
			t.Errorf("usage %v = %d %s, want wrong use", wrong, code, complaint)
		}
	}
}

func TestExportAudit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	s.Must(t, http.StatusCreated, s.Start(t, ""))
	s.Must(t, http.StatusCreated, s.Start(t, "").By(s.Tiny.Tokens.Executor))
	operator.Must(t, "org", "set", s.Tiny.Slug, "--suspended", "--reason", "a \"quoted\"\nreason")
	records := func(args ...string) []auditRecord {
		t.Helper()
		var found []auditRecord
		for line := range strings.Lines(operator.Must(t, append([]string{"org", "audit"}, args...)...)) {
			var record auditRecord
			if err := json.Unmarshal([]byte(line), &record); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			found = append(found, record)
		}
		return found
	}
	if n := dbtest.One[int](t, s.DB, `SELECT count(*)::int FROM audit_records`); len(records()) != n {
		t.Errorf("records = %d, want all %d", len(records()), n)
	}
	actions := records("--org", s.Tiny.Slug, "--without-starts")
	last := actions[len(actions)-1]
	if last != (auditRecord{s.Tiny.Slug, "organization.suspend", "a \"quoted\"\nreason"}) {
		t.Errorf("last record = %v, want the suspension", last)
	}
	for _, record := range actions {
		if record.Organization != s.Tiny.Slug || record.Action == "run.start" {
			t.Errorf("record = %v, want those of %s without starts", record, s.Tiny.Slug)
		}
	}
	if left := records("--since", "2999-01-01T00:00:00Z"); len(left) != 0 {
		t.Errorf("records of the future = %v, want none", left)
	}
}

type auditRecord struct {
	Organization string `json:"organization"`
	Action       string `json:"action"`
	Detail       string `json:"detail"`
}

// The export of a user has no secrets that would let a reader act as the user.
func TestExportUser(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer})
	s.Exec(t, `INSERT INTO mails (id, kind, recipient) VALUES (gen_random_uuid(), 'forgotten', $1)`, harbourViewer)
	text := s.Console(t).Must(t, "user", "export", harbourViewer)
	for _, want := range []string{`"users"`, `"memberships"`, `"api_tokens"`, `"audit_records"`, harbourViewer} {
		if !strings.Contains(text, want) {
			t.Errorf("export = %s, want %s", text, want)
		}
	}
	if n := strings.Count(text, `"mails"`); n != 1 {
		t.Errorf("export = %s, want the letter once, not %d times", text, n)
	}
	for _, secret := range []string{"digest", "password_hash", "argon2"} {
		if strings.Contains(text, secret) {
			t.Errorf("export = %s, want no %s", text, secret)
		}
	}
	if strings.Contains(text, s.Tiny.Slug) {
		t.Errorf("export = %s, want nothing of %s", text, s.Tiny.Slug)
	}
}
