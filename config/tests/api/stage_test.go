package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/outside"
)

func TestMain(m *testing.M) {
	var names outside.Names
	names.Answer("private.example", []string{"10.0.0.1"})
	names.Answer("rebound.example", []string{"127.0.0.1"}, []string{"10.0.0.1"})
	net.DefaultResolver = names.Resolver()
	fixture.Main(m)
}

type (
	call   = fixture.Call
	answer = fixture.Answer
)

// stage is the service with what the tests of this package do to it.
type stage struct {
	*fixture.Stage
}

func setup(tb testing.TB, change ...func(*config.Settings)) *stage {
	tb.Helper()
	return &stage{fixture.Setup(tb, change...)}
}

// reading is a GET by harbour's viewer.
func (s *stage) reading(path string) call { return call{Path: path, Token: s.Harbour.Tokens.Viewer} }

// read reads what harbour's viewer finds at the address.
func read[T any](tb testing.TB, s *stage, path string) T {
	tb.Helper()
	return fixture.Decoded[T](tb, s.Must(tb, http.StatusOK, s.reading(path)))
}

// thereAndBack follows the links of a list to its end and back again, and returns what its pages of the size have.
func thereAndBack[T any](tb testing.TB, s *stage, first call, size int) []T {
	tb.Helper()
	turn := func(link api.Optional) api.Page[T] {
		page := fixture.Decoded[api.Page[T]](tb, s.Must(tb, http.StatusOK, first.To(string(link))))
		if n := len(page.Results); n > size || n < size && page.Next != "" {
			tb.Errorf("%s has %d results, want %d", link, n, size)
		}
		return page
	}
	page := turn(api.Optional(first.Path))
	if page.Previous != "" {
		tb.Errorf("the first page has a link back, %s", page.Previous)
	}
	forth := page.Results
	for page.Next != "" {
		page = turn(page.Next)
		forth = append(forth, page.Results...)
	}
	back := page.Results
	for page.Previous != "" {
		page = turn(page.Previous)
		back = slices.Concat(page.Results, back)
	}
	if diff := cmp.Diff(forth, back); diff != "" {
		tb.Errorf("pages of %s (-there +back):\n%s", first.Path, diff)
	}
	return forth
}

// exchange sends bytes as they are, on a connection of their own, and reads the answer.
func (s *stage) exchange(tb testing.TB, request string) answer {
	tb.Helper()
	conn, err := net.DialTimeout("tcp", s.Address, fixture.Patience)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // Nothing is lost with it.
	if err := conn.SetDeadline(time.Now().Add(fixture.Patience)); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		tb.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		tb.Fatalf("%.400q: %v", request, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return answer{Status: response.StatusCode, Header: response.Header, Body: body}
}

// keyRow is a key as text, column by column.
type keyRow map[string]string

func (s *stage) key(tb testing.TB, key string) keyRow {
	tb.Helper()
	rows, err := s.DB.Pool.Query(tb.Context(), `
		SELECT c.key, coalesce(c.value, '') FROM idempotency_keys AS k, jsonb_each_text(to_jsonb(k)) AS c
		WHERE k.key = $1`, key)
	if err != nil {
		tb.Fatal(err)
	}
	row := keyRow{}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		row[name] = value
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return row
}

// versions reports whether any row of the tables that a start writes was written since: every write changes a row's
// xmin.
func (s *stage) versions(tb testing.TB) map[string]string {
	tb.Helper()
	versions := map[string]string{}
	for _, table := range []string{
		"idempotency_keys", "submissions", "validation_runs", "staged_jobs", "audit_records", "usage_counters",
		"workflows", "organizations", "memberships", "api_tokens",
	} {
		versions[table] = coretest.One[string](tb, s.DB,
			`SELECT coalesce(string_agg(t.ctid || ' ' || t.xmin || ' ' || t.xmax, ',' ORDER BY t.ctid), '')
			FROM `+table+` AS t`)
	}
	return versions
}
