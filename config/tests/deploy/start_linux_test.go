package deploy

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// proxies is the most that a network of proxies may have: whoever sends from one chooses the address that is noted.
const proxies = 24

// TestDeployedProcesses starts the programs with the commands and the settings that the files have, at the ports that
// they have. Only the addresses are others, and each container has one of its own. The probes are answered, the roles
// are played, and SIGTERM ends each process before its supervisor would kill it.
func TestDeployedProcesses(t *testing.T) {
	t.Parallel()
	kubernetes, metric := readManifests(t)
	for _, way := range []struct {
		name      string
		processes []process
		// metric has to be measured.
		metric string
		// shares says that all processes have the addresses of one machine.
		shares bool
	}{
		{name: "systemd", processes: readUnits(t), shares: true},
		{name: "compose", processes: readComposition(t)},
		{name: "kubernetes", processes: kubernetes, metric: metric},
	} {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			s := &site{Installation: program.Install(t), address: ownAddress()}
			for _, role := range []string{"migrate up", "--only scheduler", "--only worker", "--only web"} {
				p := find(t, way.processes, role)
				if !way.shares {
					s.address = ownAddress()
				}
				s.start(t, p)
			}
			s.work(t, way.metric)
			s.stop(t)
		})
	}
}

// find returns the process with the words in its command.
func find(tb testing.TB, all []process, words string) process {
	tb.Helper()
	i := slices.IndexFunc(all, func(p process) bool { return strings.Contains(strings.Join(p.args, " "), words) })
	if i < 0 {
		tb.Fatalf("no file starts %q", words)
	}
	return all[i]
}

// ownAddress is one that only this test has, so that it may take the ports that it is told.
func ownAddress() string {
	return fmt.Sprintf("127.%d.%d.%d", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}

// site is an installation whose processes run as their files say.
type site struct {
	*program.Installation

	// address is that of the next process.
	address string
	running []running
	// base is where clients are led to, and metrics what the last process tells of itself.
	base, metrics string
}

type running struct {
	process
	*program.Process
}

// start starts a process and waits until its probes are answered, or until a command is done.
func (s *site) start(tb testing.TB, p process) {
	tb.Helper()
	environ := s.settingsOf(tb, p)
	settings, unknown, err := config.LoadSettings(environ)
	if err != nil || len(unknown) > 0 {
		tb.Fatalf("%s sets %v: unknown %v, %v", p.file, environ, unknown, err)
	}
	for _, network := range settings.TrustedProxies {
		if network.Bits() < proxies {
			tb.Errorf("%s trusts all of %s, want proxies alone", p.file, network)
		}
	}
	if p.args[0] != "serve" {
		program.Execute(tb, environ, "", p.args...)
		return
	}
	if takes := p.preStop + settings.ShutdownDelay + settings.ShutdownGrace; takes >= p.grace {
		tb.Errorf("%s kills the process after %s, which may take %s to stop", p.file, p.grace, takes)
	}
	// The hour of a purge comes each second, unless the file says when.
	started := program.Launch(tb, append([]string{"SV_PURGE_SCHEDULE=@every 1s"}, environ...), "", p.args...)
	s.running = append(s.running, running{p, started})
	if len(p.probes) == 0 {
		tb.Errorf("%s has no probes", p.file)
	}
	for _, asked := range p.probes {
		s.awaitProbe(tb, asked, p.file, started)
	}
	if started.HasEnded() {
		tb.Fatalf("the process of %s ended at its start", p.file)
	}
	s.metrics = "http://" + s.address + ":" + portOf(settings.MetricsAddr) + "/metrics/"
	if p.served != "" {
		s.base = "http://" + s.address + ":" + p.served
	}
}

// awaitProbe waits until a probe is answered with 200, or until the process has ended.
func (s *site) awaitProbe(tb testing.TB, asked probe, file string, of *program.Process) {
	tb.Helper()
	address := "http://" + s.address + ":" + asked.port + asked.path
	request, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, address, http.NoBody)
	if err != nil || asked.port == "" {
		tb.Fatalf("%s has the probe %s: %v", file, address, err)
	}
	c := program.NewClient(tb, "")
	program.Await(tb, "the probe "+address+" of "+file, func() bool {
		got, err := c.Do(request)
		if err == nil && got.Status == http.StatusNotFound {
			tb.Fatalf("%s has the probe %s, which nobody knows", file, address)
		}
		return of.HasEnded() || err == nil && got.Status == http.StatusOK
	})
}

// settingsOf are the settings of the file, with the secrets and the addresses of the test.
func (s *site) settingsOf(tb testing.TB, p process) []string {
	tb.Helper()
	dir := tb.TempDir()
	for setting, name := range map[string]string{
		"DATABASE_URL": "database-url", "REDIS_URL": "redis-url", "SV_SECRET_KEY": "secret-key",
	} {
		value := process{environ: s.Settings}.setting(setting)
		if !slices.Contains(p.placed, name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(value), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	var environ []string
	for _, variable := range p.environ {
		name, value, _ := strings.Cut(variable, "=")
		value = strings.Replace(value, p.folder+"/", dir+"/", 1)
		if strings.HasSuffix(name, "_ADDR") {
			value = s.address + ":" + portOf(value)
		}
		environ = append(environ, name+"="+value)
	}
	return environ
}

// work has each role do what it is there for: a run is started and executed, and an old key is purged.
func (s *site) work(tb testing.TB, metric string) {
	tb.Helper()
	c := program.NewClient(tb, s.Harbour.Tokens.Executor)
	if got := c.Start(tb, s.base, program.Building(tb, "deployed")); !got.Created() {
		tb.Fatalf("start = %d %s, want 201", got.Status, got.Body)
	}
	program.Await(tb, "a worker executes the run", func() bool {
		return coretest.One[bool](tb, s.DB, "SELECT EXISTS (SELECT FROM validation_runs WHERE result = 'PASS')")
	})
	program.Change(tb, s.DB, `UPDATE idempotency_keys SET created_at = now() - interval '2 days',
		expires_at = now() - interval '1 day' WHERE key = 'deployed'`)
	program.Await(tb, "a scheduler has the key purged", func() bool {
		return !coretest.One[bool](tb, s.DB, "SELECT EXISTS (SELECT FROM idempotency_keys WHERE key = 'deployed')")
	})
	if told := string(c.Get(tb, s.metrics).Body); !strings.Contains(told, "\n"+metric+" ") && metric != "" {
		tb.Errorf("no process measures %s, which scales the workers", metric)
	}
}

// stop does what each supervisor does: it tells the process to stop, and kills it when its time is over.
func (s *site) stop(tb testing.TB) {
	tb.Helper()
	// One that has ended is not harmed by being killed later.
	for _, r := range s.running {
		r.Signal(tb, syscall.SIGTERM)
		time.AfterFunc(r.grace-r.preStop, r.Kill)
	}
	for _, r := range s.running {
		if code := r.ExitCode(tb); code != 0 {
			tb.Errorf("the process of %s ended with %d, want 0", r.file, code)
		}
	}
}
