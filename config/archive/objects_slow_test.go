//go:build slow

package archive_test

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/archive"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/objectstore"
	"github.com/simplevalidations/simplevalidations/validations/objects"
)

func setupStored(tb testing.TB) (*stage, *objectstore.Server) {
	tb.Helper()
	server := objectstore.Start(tb)
	return &stage{fixture.Setup(tb, func(settings *config.Settings) {
		settings.ContentURL = config.Secret(server.URL())
	})}, server
}

// An archive is the same with and without an object store: an organization comes from one, through an installation that
// has none, into another one.
func TestArchiveOfAnObjectStore(t *testing.T) {
	t.Parallel()
	from, first := setupStored(t)
	through := setup(t)
	to, second := setupStored(t)
	answer, file := exported(t, from)
	const chunks = `SELECT (SELECT count(*) FROM upload_chunks) || ' ' || (SELECT count(*) FROM upload_objects)`
	for _, tt := range []struct {
		here *stage
		rows string
	}{{through, "1 0"}, {to, "0 1"}} {
		tt.here.lose(t, tt.here.Harbour)
		there := tt.here.Console(t)
		there.Must(t, "org", "import", file)
		tt.here.Exec(t, `UPDATE organizations SET suspended_at = now() - interval '1 hour' WHERE slug = $1`,
			from.Harbour.Slug)
		text := there.Must(t, "org", "export", from.Harbour.Slug)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if rows := dbtest.One[string](t, tt.here.DB, chunks); rows != tt.rows {
			t.Errorf("%s chunks in the database and in the store, want %s", rows, tt.rows)
		}
	}
	if a, b := first.Objects(t), second.Objects(t); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("objects = %q, want %q", b, a)
	}
	console := to.Console(t)
	console.Must(t, "org", "set", to.Harbour.Slug, "--suspended=false", "--reason", "it has moved")
	fixture.WantReplay(t, answer, to.Must(t, http.StatusCreated, from.Start(t, "moved")))

	// What the store loses is named.
	if lost := console.Must(t, "admin", "runs", "lost", "--documents"); lost != "" {
		t.Errorf("lost = %q, want nothing", lost)
	}
	if err := os.Remove(second.Path(second.Objects(t)[0])); err != nil {
		t.Fatal(err)
	}
	if lost := console.Must(t, "admin", "runs", "lost", "--documents", "--adopt"); !strings.Contains(lost,
		to.Harbour.Slug) || strings.Count(lost, "\n") != 2 {
		t.Errorf("lost = %q, want one run", lost)
	}
	// Without the store there is no service.
	console.Environ = append(console.Environ, "SV_CONTENT_URL=")
	code, _, complaint := console.Run(t, "org", "export", "--live", to.Harbour.Slug)
	if code == 0 || !strings.Contains(complaint, "SV_CONTENT_URL") {
		t.Errorf("export without the store = %d %s, want it refused", code, complaint)
	}
}

// An organization moves from one object store to another while it is in use.
func TestMoveBetweenObjectStores(t *testing.T) {
	t.Parallel()
	from, first := setupStored(t)
	to, second := setupStored(t)
	to.lose(t, to.Harbour)
	large := strings.Repeat(from.Start(t, "").Body, 1000)
	from.Must(t, http.StatusCreated, from.Start(t, "large").WithBody("text/csv", large))
	from.Work(t)
	move := archive.Move{
		From: place(t, from), To: place(t, to), OrgID: from.Harbour.ID, Slug: from.Harbour.Slug, Cell: "b",
		Rest: time.Millisecond, Within: time.Minute, Report: func(_, _ string) {},
	}
	if err := move.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	const rows = `SELECT count(*) FROM upload_objects`
	if here, there := dbtest.One[int](t, from.DB, rows), dbtest.One[int](t, to.DB, rows); here != 0 || there != 2 {
		t.Errorf("%d chunks here and %d there, want them there", here, there)
	}
	if a, b := first.Objects(t), second.Objects(t); strings.Join(a, " ") != strings.Join(b, " ") {
		t.Errorf("objects = %q, want %q", b, a)
	}
	first.Age(t, 25*time.Hour)
	from.Console(t).Must(t, "admin", "purge")
	if names := first.Objects(t); len(names) != 0 {
		t.Errorf("objects = %q, want none in the former store", names)
	}
}

func place(tb testing.TB, s *stage) archive.Place {
	tb.Helper()
	store, err := objects.Open(string(s.Settings.ContentURL))
	if err != nil {
		tb.Fatal(err)
	}
	return archive.Place{DB: s.DB, Objects: store}
}
