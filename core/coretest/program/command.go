package program

import (
	_ "embed"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exitMisused is how a command ends that does not understand what is asked of it.
const exitMisused = 2

// Execute runs a command of the program to its end, which has to be a success, and returns its standard output.
func Execute(tb testing.TB, settings []string, stdin string, args ...string) string {
	tb.Helper()
	p := Launch(tb, settings, stdin, args...)
	if got := p.ExitCode(tb); got != 0 {
		tb.Fatalf("exit code of %s = %d, want 0", strings.Join(args, " "), got)
	}
	return p.Stdout()
}

// Refuse runs a command that has to be refused as wrongly used, and returns what it says about that.
func Refuse(tb testing.TB, settings []string, args ...string) string {
	tb.Helper()
	return endWith(tb, exitMisused, settings, args)
}

// Fail runs a command that is understood and has to fail, and returns what it says about that.
func Fail(tb testing.TB, settings []string, args ...string) string {
	tb.Helper()
	return endWith(tb, exitFailed, settings, args)
}

func endWith(tb testing.TB, want int, settings, args []string) string {
	tb.Helper()
	p := Launch(tb, settings, "", args...)
	if got := p.ExitCode(tb); got != want {
		tb.Errorf("exit code of %s = %d, want %d", strings.Join(args, " "), got, want)
	}
	return p.Stderr()
}

//go:embed start.yaml
var startDescription string

// Idemcheck holds starts to all cases of the command idemcheck, which has to judge each but those that are named, and
// to find nothing wrong. It is called at a URL, and has another process beside it.
func (i *Installation) Idemcheck(tb testing.TB, url, also string, restart func(), but ...string) {
	tb.Helper()
	tenant, exhausted := i.Enroll(tb, also, "other-tenant"), i.Enroll(tb, also, "exhausted")
	Execute(tb, i.Settings, "", "org", "set", exhausted.Slug, "--runs", "0")
	_, err := i.DB.Pool.Exec(tb.Context(), `
		CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF NEW.filename LIKE 'failing-%' THEN RAISE EXCEPTION 'out of order'; END IF;
			IF NEW.filename LIKE 'slow-%' THEN PERFORM pg_sleep(1); END IF;
			RETURN NEW;
		END $$;
		CREATE TRIGGER acting BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION act()`)
	if err != nil {
		tb.Fatal(err)
	}
	environment := []string{
		"TENANT=" + tenant.Tokens.Owner, "EXHAUSTED=" + exhausted.Tokens.Owner, "VIEWER=" + i.Harbour.Tokens.Viewer,
		"OTHER_USER=" + i.Harbour.Tokens.Owner, "ALSO=" + also,
	}
	hooks := map[string]func(){"/restart": restart, "/quota": func() {
		Execute(tb, i.Settings, "", "org", "set", exhausted.Slug, "--runs", "1000")
	}}
	i.idemcheck(tb, url, "0s", append(environment, "TOKEN="+i.Harbour.Tokens.Executor), hooks, append(but, "expiry/"))
	CheckAtRest(tb, i.DB)

	// The shortest lifetime is a minute, which nobody shall wait for. These keys have two runs afterwards.
	brief := i.Enroll(tb, also, "brief")
	if _, err := i.DB.Pool.Exec(tb.Context(), `
		ALTER TABLE organizations DROP CONSTRAINT ck_organizations_key_lifetime;
		UPDATE organizations SET key_lifetime = interval '4 s' WHERE slug = 'brief'`); err != nil {
		tb.Fatal(err)
	}
	i.idemcheck(tb, url, "4s", append(environment, "TOKEN="+brief.Tokens.Owner), hooks, nil, "--only", "expiry")
}

// idemcheck runs the command, whose hooks call the functions. Only the test may end its servers.
func (i *Installation) idemcheck(
	tb testing.TB, url, lifetime string, environment []string, hooks map[string]func(), but []string, args ...string,
) {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "start.yaml")
	text := strings.ReplaceAll(startDescription, "LIFETIME", lifetime)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	asked, done := make(chan string), make(chan struct{})
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		<-done
	}))
	defer control.Close()
	settings := append(append(slices.Clone(i.Settings), environment...), "CONTROL="+control.URL)
	p := Launch(tb, settings, "", append([]string{"idemcheck", url, "--request", file}, args...)...)
	for running := true; running; {
		select {
		case hook := <-asked:
			hooks[hook]()
			done <- struct{}{}
		case <-p.ended:
			running = false
		}
	}
	for line := range strings.Lines(p.Stdout()) {
		if strings.HasPrefix(line, "✗") || strings.HasPrefix(line, "–") &&
			!slices.ContainsFunc(but, func(name string) bool { return strings.Contains(line, name) }) {
			tb.Error(line)
		}
	}
	if got := p.ExitCode(tb); got != 0 || tb.Failed() {
		tb.Errorf("exit code = %d, want 0 and every case judged:\n%s", got, p.Stdout())
	}
}
