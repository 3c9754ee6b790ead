package archive_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/archive"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

// An organization moves with its keys: a client that repeats a request in the new installation gets the old answer.
func TestArchiveMovesAnOrganization(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	first, file := exported(t, from)
	to.lose(t, to.Harbour)

	there := to.Console(t)
	if rows := there.Must(t, "org", "import", file, "--dry-run"); !strings.Contains(rows, "validation_runs") {
		t.Errorf("dry run = %s, want the rows", rows)
	}
	there.Must(t, "org", "import", file)
	// It was deleted here before, and what comes after a deletion is purged unless the organization is back.
	if purged, err := archive.PurgeDeleted(t.Context(), to.DB); purged != 0 || err != nil {
		t.Errorf("purge after the import = %d, %v, want nothing", purged, err)
	}
	if diff := cmp.Diff(contents(t, from, from.Harbour.ID), contents(t, to, to.Harbour.ID)); diff != "" {
		t.Errorf("rows (-of the old installation +of the new one):\n%s", diff)
	}
	// It is there, but nobody uses it in two places.
	to.Refused(t, api.CodeOrganizationSuspended, from.Start(t, "moved"))
	there.Must(t, "org", "set", to.Harbour.Slug, "--suspended=false", "--reason", "it has moved")
	fixture.WantReplay(t, first, to.Must(t, http.StatusCreated, from.Start(t, "moved")))
	to.Must(t, http.StatusCreated, from.Start(t, "new"))
	if code, _, complaint := there.Run(t, "org", "import", file); code != 1 ||
		!strings.Contains(complaint, "here already") {
		t.Errorf("import again = %d %s, want it refused", code, complaint)
	}
	if n := dbtest.One[int](t, to.DB, `SELECT count(*)::int FROM users
		WHERE email LIKE '%@harbour-energy.example' AND (password_hash <> '' OR address_confirmed)`); n != 0 {
		t.Errorf("users with a password or a confirmed address = %d, want 0", n)
	}
}

// An import that is killed anywhere is finished by the next one, and cannot be used before.
func TestImportAfterEveryKill(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	_, file := exported(t, from)
	to.lose(t, to.Harbour)
	there := to.Console(t)
	kills := 0
	for table, rows := range contents(t, from, from.Harbour.ID) {
		if rows == "" {
			continue
		}
		kills++
		to.Exec(t, `CREATE FUNCTION kill_`+table+`() RETURNS trigger LANGUAGE plpgsql AS
			$$ BEGIN RAISE EXCEPTION 'killed at `+table+`'; END $$`)
		to.Exec(t, `CREATE TRIGGER kill BEFORE INSERT ON `+table+` FOR EACH ROW EXECUTE FUNCTION kill_`+table+`()`)
		code, _, complaint := there.Run(t, "org", "import", file)
		if code != 1 || !strings.Contains(complaint, "killed at "+table) {
			t.Fatalf("import = %d %s, want it to end at %s", code, complaint, table)
		}
		to.Exec(t, `DROP TRIGGER kill ON `+table)
		code, _, complaint = there.Run(t, "org", "set", to.Harbour.Slug, "--suspended=false", "--reason", "impatience")
		if code != 1 || !strings.Contains(complaint, "import of the organization has not ended") {
			t.Errorf("resume of a half organization = %d %s, want it refused", code, complaint)
		}
	}
	if kills < 12 {
		t.Errorf("killed at %d tables, want at least 12", kills)
	}
	there.Must(t, "org", "import", file)
	if diff := cmp.Diff(contents(t, from, from.Harbour.ID), contents(t, to, to.Harbour.ID)); diff != "" {
		t.Errorf("rows (-of the old installation +of the new one):\n%s", diff)
	}
}

func TestExportRefusesWhatMayChange(t *testing.T) {
	t.Parallel()
	s := setup(t)
	operator := s.Console(t)
	refused := func(want string) {
		t.Helper()
		if code, _, complaint := operator.Run(t, "org", "export", s.Harbour.Slug); code != 1 ||
			!strings.Contains(complaint, want) {
			t.Errorf("export = %d %s, want %s", code, complaint, want)
		}
	}
	s.Started(t, s.Start(t, "open"))
	refused("suspend the organization first")
	operator.Must(t, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "it moves")
	refused("wait a minute")
	s.Exec(t, `UPDATE organizations SET suspended_at = now() - interval '1 hour' WHERE id = $1`, s.Harbour.ID)
	refused("1 run and 0 keys")
	copied := filepath.Join(t.TempDir(), "copy")
	text := operator.Must(t, "org", "export", s.Harbour.Slug, "--live")
	if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, complaint := operator.Run(t, "org", "import", copied); code != 1 ||
		!strings.Contains(complaint, "--live") {
		t.Errorf("import of a copy = %d %s, want it refused", code, complaint)
	}
}

// Whoever wrote an archive, it writes nothing but rows of the organization that it makes.
//
//nolint:tparallel // Its cases import into the same installation.
func TestHostileArchives(t *testing.T) {
	t.Parallel()
	from, to := setup(t), setup(t)
	_, file := exported(t, from)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	lines = lines[:len(lines)-1]
	to.lose(t, to.Harbour)
	stolen := dbtest.One[string](t, to.DB, `SELECT '\x' || encode(digest, 'hex') FROM api_tokens
		WHERE org_id = $1 LIMIT 1`, to.Tiny.ID)
	victim := to.Tiny.ID.String()
	replaced := func(table, before, after string) []string {
		changed := slices.Clone(lines)
		for i, l := range changed {
			if strings.HasPrefix(l, `{"table":"`+table+`"`) {
				if changed[i] = strings.Replace(l, before, after, 1); changed[i] != l {
					return changed
				}
			}
		}
		t.Fatalf("no row of %s has %s", table, before)
		return nil
	}
	digest := valueOf(t, lines, "api_tokens", "digest")
	chunk := valueOf(t, lines, "upload_chunks", "bytes")[1:]
	member := valueOf(t, lines, "memberships", "user_id")
	outsider := dbtest.One[uuid.UUID](t, to.DB, `SELECT user_id FROM memberships
		WHERE org_id = $1 LIMIT 1`, to.Tiny.ID)
	for name, c := range map[string]struct { //nolint:paralleltest // They import into the same installation.
		lines []string
		want  string
	}{
		"AnExistingOrganization": {
			append([]string{strings.Replace(lines[0], from.Harbour.ID.String(), victim, 1)}, lines[1:]...),
			"here already",
		},
		"AnotherTable": {append(slices.Clone(lines), `{"table":"sessions","row":{}}`), "no table"},
		"ASecondRow":   {append(slices.Clone(lines), lines[1]), "no table"},
		"AForeignToken": {
			replaced("api_tokens", digest, strings.ReplaceAll(stolen, `\`, `\\`)), "uq_api_tokens_digest",
		},
		"AForeignMember": {replaced("memberships", member, outsider.String()), "null value"},
		"AnOpenRun":      {replaced("validation_runs", `"COMPLETED"`, `"PENDING"`), "not completed"},
		"AnOpenKey":      {replaced("idempotency_keys", `"finished"`, `"started"`), "not finished"},
		"AnOpenRunBehindAnotherCase": {
			replaced("validation_runs", `"state":"COMPLETED"`, `"state":"PENDING","State":"COMPLETED"`),
			"not completed",
		},
		"AnOpenRunTwice": {
			replaced("validation_runs", `"state":"COMPLETED"`, `"state":"PENDING","state":"COMPLETED"`),
			"cannot be read",
		},
		"AnOpenKeyBehindAnotherCase": {
			replaced("idempotency_keys", `"recovery_point":"finished"`,
				`"recovery_point":"started","RECOVERY_POINT":"finished"`), "not finished",
		},
		"AnotherDocument": {replaced("submissions", `"content":"\\x`, `"content":"\\x00`), "digest"},
		"AnotherChunk":    {replaced("upload_chunks", chunk[2:], flipped(chunk[2:])), "digest"},
		"AnotherWorkflow": {replaced("definitions", `"body":"\\x`, `"body":"\\x20`), "ck_definitions_digest"},
		"WhatIsNoRow": {
			append(slices.Clone(lines), `{"table":"audit_records","row":[1]}`), "row of audit_records",
		},
		"ALineWithoutARow": {append(slices.Clone(lines), `{"table":"audit_records"}`), "has no row"},
	} {
		t.Run(name, func(t *testing.T) {
			before := outside(t, to)
			code, _, complaint := to.Console(t).Run(t, "org", "import", sealed(t, c.lines))
			if code != 1 || !strings.Contains(complaint, c.want) {
				t.Errorf("import = %d %s, want it refused with %q", code, complaint, c.want)
			}
			if diff := cmp.Diff(before, outside(t, to)); diff != "" {
				t.Errorf("rows outside of the organization (-before +after):\n%s", diff)
			}
			to.lose(t, to.Harbour)
		})
	}
	t.Run("RowsOfAnotherOrganization", func(t *testing.T) {
		// They are taken for rows of the one that is made.
		before := outside(t, to)
		changed := slices.Clone(lines)
		for i := range changed[2:] {
			changed[i+2] = strings.Replace(changed[i+2], `"org_id":"`+from.Harbour.ID.String(), `"org_id":"`+victim, 1)
		}
		to.Console(t).Must(t, "org", "import", sealed(t, changed))
		if diff := cmp.Diff(before, outside(t, to)); diff != "" {
			t.Errorf("rows outside of the organization (-before +after):\n%s", diff)
		}
	})
}

func TestDamagedArchives(t *testing.T) {
	t.Parallel()
	s := setup(t)
	_, file := exported(t, s)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"Short":   text[:len(text)-100],
		"Half":    text[:len(text)/2],
		"Changed": bytes.Replace(text, []byte(`"name"`), []byte(`"nams"`), 1),
		"Longer":  append(bytes.Clone(text), '\n'),
		"Empty":   nil,
	} {
		damagedFile := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(damagedFile, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if code, _, complaint := s.Console(t).Run(t, "org", "import", damagedFile, "--dry-run"); code != 1 ||
			!strings.Contains(complaint, "the archive is damaged") {
			t.Errorf("%s: import = %d %s, want it refused as damaged", name, code, complaint)
		}
	}
}

// exported gives harbour a history with everything that an archive holds, and exports it. It returns the answer to the
// start with the key "moved".
func exported(tb testing.TB, s *stage) (answer, string) {
	tb.Helper()
	operator := s.Console(tb)
	start := s.Start(tb, "moved")
	first := s.Must(tb, http.StatusCreated, start)
	large := start.Body + strings.Repeat(start.Body[strings.Index(start.Body, "\n")+1:], 1000)
	s.Must(tb, http.StatusCreated, s.Start(tb, "large").WithBody("text/csv", large))
	s.Work(tb)
	run := fixture.Decoded[api.Run](tb, first)
	s.Must(tb, http.StatusCreated, s.Rerun("again", run.ID))
	s.Must(tb, http.StatusCreated, start)
	s.Work(tb)
	s.Flush(tb)
	operator.Must(tb, "org", "set", s.Harbour.Slug, "--suspended", "--reason", "it moves")
	s.Exec(tb, `UPDATE organizations SET suspended_at = now() - interval '1 hour' WHERE id = $1`, s.Harbour.ID)
	file := filepath.Join(tb.TempDir(), "harbour.jsonl")
	text := operator.Must(tb, "org", "export", s.Harbour.Slug)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return first, file
}

// lose deletes an organization and its users, so that the installation has never heard of them.
func (s *stage) lose(tb testing.TB, org config.DemoOrg) {
	tb.Helper()
	s.Exec(tb, `UPDATE organizations SET suspended_at = now() WHERE id = $1`, org.ID)
	s.Console(tb).Must(tb, "org", "delete", org.ID.String())
	s.Exec(tb, `DELETE FROM users WHERE email LIKE '%@harbour-energy.example'`)
}

// contents returns the rows of an organization in every table of an archive, without what a move adds.
func contents(tb testing.TB, s *stage, orgID uuid.UUID) map[string]string {
	tb.Helper()
	all := make(map[string]string)
	for _, table := range archive.AllTenantTables() {
		if slices.Contains([]string{"request_log", "staged_jobs", "signing_keys", "signing_secrets"}, table) {
			continue
		}
		all[table] = dbtest.One[string](tb, s.DB, `
			SELECT coalesce(string_agg(r.text, E'\n' ORDER BY r.text COLLATE "C"), '')
			FROM (SELECT row_to_json(t)::text AS text FROM `+table+` AS t WHERE t.org_id = $1) AS r
			WHERE r.text NOT LIKE '%"action":"organization.import"%'`, orgID)
	}
	return all
}

// outside returns the rows that are not harbour's. A user who has never been here is none of them.
func outside(tb testing.TB, s *stage) map[string]string {
	tb.Helper()
	all := contents(tb, s, s.Tiny.ID)
	all["organizations"] = dbtest.One[string](tb, s.DB, `SELECT string_agg(row_to_json(t)::text, E'\n' ORDER BY id)
		FROM organizations AS t WHERE id <> $1`, s.Harbour.ID)
	all["users"] = dbtest.One[string](tb, s.DB, `SELECT string_agg(row_to_json(t)::text, E'\n' ORDER BY id)
		FROM users AS t WHERE email NOT LIKE '%@harbour-energy.example'`)
	all["sessions"] = dbtest.One[string](tb, s.DB, `SELECT count(*)::text FROM sessions`)
	return all
}

// valueOf returns a value of the first row of a table.
func valueOf(tb testing.TB, lines []string, table, column string) string {
	tb.Helper()
	for _, l := range lines {
		if !strings.HasPrefix(l, `{"table":"`+table+`"`) {
			continue
		}
		var parsed struct {
			Row map[string]json.RawMessage `json:"row"`
		}
		if err := json.Unmarshal([]byte(l), &parsed); err != nil {
			tb.Fatal(err)
		}
		return strings.Trim(string(parsed.Row[column]), `"`)
	}
	tb.Fatalf("no row of %s", table)
	return ""
}

// flipped returns hexadecimal digits of which the first is another one.
func flipped(digits string) string {
	if digits[0] == '3' {
		return "4" + digits[1:]
	}
	return "3" + digits[1:]
}

// sealed writes an archive whose end is true for its lines.
func sealed(tb testing.TB, lines []string) string {
	tb.Helper()
	text := strings.Join(lines, "\n") + "\n"
	rows := make(map[string]int)
	for _, l := range lines[1:] {
		var parsed struct {
			Table string `json:"table"`
		}
		if err := json.Unmarshal([]byte(l), &parsed); err != nil {
			tb.Fatal(err)
		}
		if parsed.Table == "" {
			parsed.Table = "users"
		}
		rows[parsed.Table]++
	}
	counts, err := json.Marshal(rows)
	if err != nil {
		tb.Fatal(err)
	}
	sum := sha256.Sum256([]byte(text))
	text += fmt.Sprintf(`{"end":{"rows":%s,"sha256":%q}}`, counts, hex.EncodeToString(sum[:])) + "\n"
	file := filepath.Join(tb.TempDir(), "archive")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}
