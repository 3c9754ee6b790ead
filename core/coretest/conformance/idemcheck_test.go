package conformance

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestIdemcheck holds starts to all cases of the command idemcheck, as its users call it.
func TestIdemcheck(t *testing.T) {
	t.Parallel()
	s := open(t, "SV_RUN_LEASE=30s", "SV_RUN_SWEEP_AFTER=30s")
	tenant := s.Enroll(t, s.one.URL(), "other-tenant")
	exhausted := s.Enroll(t, s.one.URL(), "exhausted")
	s.command(t, "org", "set", "exhausted", "--runs", "0")
	s.statement(t, `CREATE FUNCTION act() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF NEW.filename LIKE 'failing-%' THEN RAISE EXCEPTION 'out of order'; END IF;
		IF NEW.filename LIKE 'slow-%' THEN PERFORM pg_sleep(1); END IF;
		RETURN NEW; END $$`)
	s.statement(t, `CREATE TRIGGER acting BEFORE INSERT ON submissions FOR EACH ROW EXECUTE FUNCTION act()`)
	environment := []string{
		"TENANT=" + tenant.Tokens.Owner, "EXHAUSTED=" + exhausted.Tokens.Owner, "VIEWER=" + s.Harbour.Tokens.Viewer,
		"OTHER_USER=" + s.Harbour.Tokens.Owner, "ALSO=" + s.other.URL(),
	}
	s.idemcheck(t, "0s", append(environment, "TOKEN="+s.Harbour.Tokens.Executor), "key", "replay", "mismatch", "same",
		"flight", "race", "tenant", "user", "error", "lost", "restart", "body")
	program.CheckAtRest(t, s.DB)
	brief := s.Enroll(t, s.one.URL(), "brief")
	s.statement(t, `ALTER TABLE organizations DROP CONSTRAINT ck_organizations_key_lifetime`)
	s.statement(t, `UPDATE organizations SET key_lifetime = interval '4 s' WHERE slug = 'brief'`)
	s.idemcheck(t, "4s", append(environment, "TOKEN="+brief.Tokens.Owner), "expiry")
}

// idemcheck runs the command, which has to judge all cases of the topics and to find nothing.
func (s *site) idemcheck(t *testing.T, lifetime string, environment []string, topics ...string) {
	t.Helper()
	text, err := os.ReadFile("testdata/start.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "start.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(text), "LIFETIME", lifetime)), 0o600); err != nil {
		t.Fatal(err)
	}
	// What the hooks ask for is done by the test, since only it may end its servers.
	asked, done := make(chan string), make(chan struct{})
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		<-done
	}))
	defer control.Close()
	args := []string{"idemcheck", s.one.URL(), "--request", file}
	for _, topic := range topics {
		args = append(args, "--only", topic)
	}
	p := program.Launch(t, append(append(s.Settings, environment...), "CONTROL="+control.URL), "", args...)
	ended := make(chan struct{})
	go func() {
		p.AwaitEnd(t)
		close(ended)
	}()
	for running := true; running; {
		select {
		case what := <-asked:
			if what == "/restart" {
				s.one.Kill()
				s.one = s.one.Again(t, s.Settings)
			} else {
				s.command(t, "org", "set", "exhausted", "--runs", "1000")
			}
			done <- struct{}{}
		case <-ended:
			running = false
		}
	}
	// The service leaves HTTP/2 to the proxy before it.
	report := strings.Replace(p.Stdout(), "–  replay/http2", "", 1)
	if got := p.ExitCode(t); got != 0 || strings.Contains(report, "✗") || strings.Contains(report, "–") {
		t.Errorf("exit code = %d, want 0 and every case judged:\n%s", got, report)
	}
}
