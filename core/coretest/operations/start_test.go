package operations

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestHangupIsIgnored(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_LOG_LEVEL=info")
	s := program.Serve(t, i.Settings)
	s.Signal(t, syscall.SIGHUP)
	program.Await(t, "the hangup is logged", func() bool { return strings.Contains(s.Stderr(), "SIGHUP is ignored") })
	if !coretest.Answers(t.Context(), s.URL()+"/readyz/") {
		t.Error("the process does not answer after SIGHUP")
	}
	s.Signal(t, syscall.SIGTERM)
	if code := s.ExitCode(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	for _, line := range []string{
		"msg=started version=dev role=all pid=", "address=" + strings.TrimPrefix(s.URL(), "http://") + " url=",
		"msg=stopping reason=\"terminated signal received\"", "msg=stopped",
	} {
		if !strings.Contains(s.Stderr(), line) {
			t.Errorf("the log has no %q:\n%s", line, s.Stderr())
		}
	}
}

// TestServeOutlivesLostConnections loses a connection at each check that follows the migrations.
func TestServeOutlivesLostConnections(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	proxy := pgproxy.Start(t, i.DB.Pool.Config().ConnString())
	proxy.CutAt("FROM signing_keys", "FROM second_factors")
	program.Serve(t, append(i.Settings, "DATABASE_URL="+proxy.URL()))
	if left := proxy.Uncut(); len(left) > 0 {
		t.Errorf("statements that the start did not send = %v, want none", left)
	}
}

func TestServeAwaitsTheDatabase(t *testing.T) {
	t.Parallel()

	i := program.Install(t)
	behind := i.DB.Pool.Config().ConnConfig
	front := coretest.FreeAddress(t)
	settings := append(slices.Clip(i.Settings),
		"DATABASE_URL=postgres://"+behind.User+":"+behind.Password+"@"+front+"/"+behind.Database+"?sslmode=disable")

	t.Run("UntilItStarts", func(t *testing.T) {
		t.Parallel()
		address := coretest.FreeAddress(t)
		s := program.Launch(t, append(slices.Clip(settings), "SV_ADDR="+address), "", "serve")
		awaitsDatabase(t, s)
		forward(t, front, behind.Host)
		program.Await(t, "the server gets ready", func() bool {
			return s.HasEnded() || coretest.Answers(t.Context(), "http://"+address+"/readyz/")
		})
		if s.HasEnded() {
			t.Error("the process ended, want it to serve")
		}
	})

	t.Run("OrUntilItIsStopped", func(t *testing.T) {
		t.Parallel()
		s := program.Launch(t, append(slices.Clip(settings),
			"DATABASE_URL=postgres://app@"+coretest.FreeAddress(t)+"/app?sslmode=disable"), "", "serve")
		awaitsDatabase(t, s)
		s.Signal(t, syscall.SIGTERM)
		if code := s.ExitCode(t); code != 0 {
			t.Errorf("exit code = %d, want 0", code)
		}
	})

	t.Run("ButEndsWhereSettingsAreWrong", func(t *testing.T) {
		t.Parallel()
		wrong := *behind
		complaint := program.Fail(t, append(slices.Clip(settings), "DATABASE_URL="+strings.Replace(wrong.ConnString(),
			"/"+wrong.Database, "/nothing", 1)), "serve")
		if !strings.Contains(complaint, "3D000") {
			t.Errorf("complaint = %s, want the database to be unknown", complaint)
		}
	})
}

func TestDoctorReportsRedisAndNothingBeside(t *testing.T) {
	t.Parallel()
	p := program.Launch(t, []string{"REDIS_URL=redis://" + coretest.FreeAddress(t), "SV_LOG_LEVEL=info"}, "", "doctor")
	p.AwaitEnd(t)
	if told := p.Stdout(); !strings.Contains(told, "ask Redis: dial tcp") {
		t.Errorf("doctor = %s, want that Redis does not answer", told)
	}
	// What the client logs by itself has no form and no level.
	if said := p.Stderr(); strings.Contains(said, "pool.go") {
		t.Errorf("standard error = %s, want nothing of the client of Redis", said)
	}
}

func awaitsDatabase(tb testing.TB, s *program.Process) {
	tb.Helper()
	program.Await(tb, "the process tries again", func() bool {
		if s.HasEnded() {
			tb.Fatal("the process ended, want it to wait")
		}
		return strings.Count(s.Stderr(), "the database is unavailable, and is tried again") > 1 &&
			strings.Contains(s.Stderr(), "start the server, or correct its host and port")
	})
}

// forward listens on an address in place of the database, whose socket is in a folder.
func forward(tb testing.TB, address, folder string) {
	tb.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(conn, folder)
		}
	}()
}

func relay(conn net.Conn, folder string) {
	defer conn.Close()
	sockets, _ := filepath.Glob(filepath.Join(folder, ".s.PGSQL.*[0-9]"))
	if len(sockets) == 0 {
		return
	}
	server, err := net.Dial("unix", sockets[0])
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(server, conn) }() // It ends with either.
	_, _ = io.Copy(conn, server)
}

func TestServeWithoutMigrating(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	const latest = "DELETE FROM goose_db_version WHERE version_id = (SELECT max(version_id) FROM goose_db_version)"
	program.Change(t, i.DB, latest)
	refused := program.Launch(t, i.Settings, "", "serve", "--migrate=off")
	if code, said := refused.ExitCode(t), refused.Stderr(); code != 8 ||
		!strings.Contains(said, "simplevalidations migrate up applies them") {
		t.Errorf("exit code and complaint = %d, %s, want 8 and the command that migrates", code, said)
	}
	const applied = "SELECT count(*) FROM goose_db_version"
	before := program.Count(t, i.DB, applied)
	plan := program.Execute(t, i.Settings, "", "migrate", "up", "--dry-run")
	if !strings.HasPrefix(plan, "-- applied 00") || !strings.Contains(plan, "\n-- pending 00") ||
		!strings.Contains(plan, "-- +goose Up") {
		t.Errorf("plan = %s, want what is applied, and the file of the pending migration", plan)
	}
	if program.Count(t, i.DB, applied) != before {
		t.Error("the plan was carried out")
	}
}

// A collector of logs that expects JSON gets JSON, also from a process that does not start.
func TestServeLogsWhyItHasNotStarted(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_LOG_FORMAT=json")
	taken := strings.TrimPrefix(program.Serve(t, i.Settings).URL(), "http://")
	for _, c := range []struct {
		name, setting, reason string
		code                  int
	}{
		{"WrongSetting", "SV_WORKERS=0", "SV_WORKERS must be at least 1", 2},
		{"TakenAddress", "SV_ADDR=" + taken, "SV_ADDR sets another address", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := program.Launch(t, append(slices.Clip(i.Settings), c.setting), "", "serve")
			if code := p.ExitCode(t); code != c.code {
				t.Errorf("exit code = %d, want %d", code, c.code)
			}
			lines := strings.Split(strings.TrimSpace(p.Stderr()), "\n")
			for _, line := range lines {
				if !json.Valid([]byte(line)) {
					t.Errorf("line %q is no JSON", line)
				}
			}
			last := lines[len(lines)-1]
			if !strings.Contains(last, `"not started"`) || !strings.Contains(last, c.reason) {
				t.Errorf("last line = %s, want that it has not started, and why", last)
			}
		})
	}
}

func TestSecretsFromFiles(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	path := filepath.Join(t.TempDir(), "database")
	address := i.DB.Pool.Config().ConnString()
	if err := os.WriteFile(path, []byte(address+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := append(program.Briskly("REDIS_URL="+i.Redis), "DATABASE_URL_FILE="+path)
	listed := program.Execute(t, settings, "", "migrate", "up", "--dry-run")
	if strings.Contains(listed, "-- pending ") || !strings.Contains(listed, "-- applied ") {
		t.Errorf("plan by a URL from a file = %s, want the migrations of the installation", listed)
	}
	for _, c := range []struct{ name, setting, complaint string }{
		{"Both", "DATABASE_URL=" + address, "DATABASE_URL is set, and so is DATABASE_URL_FILE"},
		{"Missing", "DATABASE_URL_FILE=" + path + "x", "DATABASE_URL_FILE cannot be read"},
		{"Empty", "SV_BILLING_SECRET_FILE=/dev/null", "SV_BILLING_SECRET_FILE is empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := program.Refuse(t, append(slices.Clip(settings), c.setting), "config", "show")
			if !strings.Contains(got, c.complaint) {
				t.Errorf("complaint = %s, want %s", got, c.complaint)
			}
		})
	}
}

// A process of several parts does the work of each, and does not pass for one of the others.
func TestServeSeveralParts(t *testing.T) {
	t.Parallel()
	i := program.Install(t, "SV_LOG_LEVEL=info")
	web := program.Serve(t, i.Settings, "--only", "web")
	behind := program.Launch(t, i.Settings, "", "serve", "--only", "worker,scheduler")
	client := program.NewClient(t, i.Harbour.Tokens.Executor)
	program.WantCreated(t, client.Start(t, web.URL(), program.Building(t, "several")))
	program.CheckAtRest(t, i.DB)
	if !strings.Contains(behind.Stderr(), "role=worker,scheduler") {
		t.Errorf("the log has no role of both parts:\n%s", behind.Stderr())
	}
	const all = `SELECT count(DISTINCT part) FROM service_processes, unnest(parts) AS part`
	program.Await(t, "all parts have a heartbeat", func() bool { return program.Count(t, i.DB, all) == 3 })
	behind.Signal(t, syscall.SIGTERM)
	if code := behind.ExitCode(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	if got := program.Count(t, i.DB, all); got != 1 {
		t.Errorf("parts that are left = %d, want the web server alone", got)
	}
	for _, wrong := range []string{"worker,queue", "web,,worker"} {
		complaint := program.Refuse(t, i.Settings, "serve", "--only", wrong)
		if !strings.Contains(complaint, "--only is one or more of web, worker and scheduler") {
			t.Errorf("complaint about %s = %s, want the parts", wrong, complaint)
		}
	}
}

// Whoever looks at PostgreSQL sees which processes its connections belong to.
func TestConnectionsAreNamed(t *testing.T) {
	t.Parallel()
	i := program.Install(t)
	program.Serve(t, i.Settings, "--only", "web")
	for name, want := range map[string]bool{"simplevalidations-web": true, "": false} {
		const named = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
			AND backend_type = 'client backend' AND application_name = $1`
		if got := program.Count(t, i.DB, named, name); got > 0 != want {
			t.Errorf("connections named %q = %d, want some: %t", name, got, want)
		}
	}
}
