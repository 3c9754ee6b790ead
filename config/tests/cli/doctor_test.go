package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestDoctor(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	address := "http://" + s.Address

	t.Run("IsContentWithAServiceOfItsRelease", func(t *testing.T) {
		t.Parallel()
		got := setupDesk(t, address, s.Harbour.Tokens.Viewer).run(t.Context(), "doctor")
		got.want(t, 0, "SV105", "the service runs 1.2.3, too")
	})

	t.Run("FindsTheServiceOfThisMachine", func(t *testing.T) {
		t.Parallel()
		d := setupDesk(t, "", s.Harbour.Tokens.Viewer, "SV_BASE_URL="+address)
		d.run(t.Context(), "doctor").want(t, 0, "SV101  ok", "SV104  ok")
	})

	t.Run("AsksNoTokenOfOperators", func(t *testing.T) {
		t.Parallel()
		setupDesk(t, address, "").run(t.Context(), "doctor").want(t, 0, "SV104  skipped", "there is none")
	})

	t.Run("WarnsOfAnotherRelease", func(t *testing.T) {
		t.Parallel()
		for release, want := range map[string]string{
			`"version":"9.0.0",`: `"the service runs 9.0.0, this program is 1.2.3"`,
			``:                   `"outcome": "skipped"`,
		} {
			other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"status":"ok",`+release+`"database":"ok","redis":"ok"}`) // It is read below.
			}))
			t.Cleanup(other.Close)
			setupDesk(t, other.URL, s.Harbour.Tokens.Viewer).run(t.Context(), "doctor", "--json").want(t, 0, want)
		}
	})

	t.Run("LooksAtTheServersOfThisMachine", func(t *testing.T) {
		t.Parallel()
		here := setupDesk(t, address, s.Harbour.Tokens.Viewer,
			"DATABASE_URL="+coretest.DatabaseURL(t), "REDIS_URL=redis://"+miniredis.RunT(t).Addr())
		here.run(t.Context(), "doctor").want(t, 0, "SV110  ok", "SV111  ok")
		setupDesk(t, address, s.Harbour.Tokens.Viewer).run(t.Context(), "doctor").
			want(t, 0, "SV110  skipped", "SV111  skipped", "SV112  skipped", "SV114  ok")
	})

	t.Run("TellsOfProcessesAndSettings", func(t *testing.T) {
		t.Parallel()
		other := fixture.Stage{DB: coretest.OpenDatabase(t)}
		d := setupDesk(t, address, s.Harbour.Tokens.Viewer, "DATABASE_URL="+other.DB.Pool.Config().ConnString(),
			"SV_NONSENSE=1", "SV_BASE_URL=http://validate.example.org")
		d.run(t.Context(), "doctor").want(t, 0, "SV112  warning", "no process has sent a heartbeat",
			"SV114  warning", "SV_NONSENSE is not a setting", "has no TLS")
		other.Process(t, "worker-1", "9.9.9", 0)
		d.run(t.Context(), "doctor").want(t, 3, "SV112  error", "no process runs: web server, scheduler, sweeper")
		setupDesk(t, address, s.Harbour.Tokens.Viewer, "SV_WORKERS=many").run(t.Context(), "doctor").
			want(t, 3, "SV114  error", "SV_WORKERS")
	})

	t.Run("NamesTheServerThatDoesNotAnswer", func(t *testing.T) {
		t.Parallel()
		d := setupDesk(t, address, s.Harbour.Tokens.Viewer,
			"DATABASE_URL=postgres://app:hunter2@127.0.0.1:1/app", "REDIS_URL=redis://:hunter2@127.0.0.1:1")
		got := d.run(t.Context(), "doctor")
		got.want(t, 3, "SV110  error", "start the server, or correct its host and port",
			"SV111  error", "set REDIS_URL")
		if strings.Contains(got.output+got.message, "hunter2") {
			t.Errorf("output = %s, message = %s, want no password", got.output, got.message)
		}
	})
}
