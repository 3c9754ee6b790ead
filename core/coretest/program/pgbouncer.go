package program

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// PoolerVariable names the environment variable that, set to anything, puts a PgBouncer before the database of every
// installation.
const PoolerVariable = "TEST_POOLER"

// PgBouncer starts a PgBouncer with the product's own configuration before the server of a database, and returns the
// address of the database behind it.
func PgBouncer(tb testing.TB, database string) string {
	tb.Helper()
	server, err := pgx.ParseConfig(database)
	if err != nil {
		tb.Fatalf("read the address of the database: %v", err)
	}
	address := coretest.FreeAddress(tb)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		tb.Fatalf("split %s: %v", address, err)
	}
	// Who may connect is decided by the server's own rules, which trust this machine.
	settings := Deployed(tb, "pgbouncer/pgbouncer.ini",
		"simplevalidations = host=db port=5432",
		fmt.Sprintf("* = host=%s port=%d user=%s", server.Host, server.Port, server.User),
		"listen_addr = *", "listen_addr = "+host, "listen_port = 6432", "listen_port = "+port,
		"auth_type = scram-sha-256", "auth_type = any", "auth_file = /etc/pgbouncer/userlist.txt", "unix_socket_dir =",
		"pool_mode =", "log_connections = 0\nlog_disconnections = 0\npool_mode =",
	)
	file := filepath.Join(tb.TempDir(), "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		tb.Fatalf("write the settings of PgBouncer: %v", err)
	}
	args := []string{file}
	if os.Geteuid() == 0 {
		args = append([]string{"-u", reacher(tb, server.Host)}, args...)
	}
	p := LaunchCommand(tb, exec.Command(Find(tb, "pgbouncer"), args...))
	pooled := (&url.URL{
		Scheme: "postgres", Host: address, User: url.User(server.User), Path: "/" + server.Database,
		RawQuery: "sslmode=disable",
	}).String()
	Await(tb, "PgBouncer answers", func() bool {
		if p.HasEnded() {
			tb.Fatal("PgBouncer ended before it answered")
		}
		conn, err := pgx.Connect(tb.Context(), pooled)
		return err == nil && conn.Close(tb.Context()) == nil
	})
	return pooled
}

// reacher returns the user who reaches the server, as PgBouncer refuses to be root: the owner of the socket's folder.
func reacher(tb testing.TB, host string) string {
	tb.Helper()
	if !strings.HasPrefix(host, "/") {
		return "nobody"
	}
	found, err := os.Stat(host)
	if err != nil {
		tb.Fatalf("look at the server's socket: %v", err)
	}
	owner, ok := found.Sys().(*syscall.Stat_t)
	if !ok {
		tb.Fatalf("%s has no owner", host)
	}
	who, err := user.LookupId(strconv.FormatUint(uint64(owner.Uid), 10))
	if err != nil {
		tb.Fatalf("find the user of PostgreSQL: %v", err)
	}
	return who.Username
}

// Deployed reads a file of config/deploy and replaces in it what belongs to another machine than that of the tests:
// each first of two texts, which has to be there, by the second.
func Deployed(tb testing.TB, name string, replaced ...string) string {
	tb.Helper()
	module, err := coretest.Root()
	if err != nil {
		tb.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(module, "config", "deploy", name))
	if err != nil {
		tb.Fatalf("read what is deployed: %v", err)
	}
	for i := 0; i < len(replaced); i += 2 {
		if !strings.Contains(string(text), replaced[i]) {
			tb.Fatalf("%s has no %q", name, replaced[i])
		}
	}
	return strings.NewReplacer(replaced...).Replace(string(text))
}

// Find returns the path of a program that has to be installed, which for servers may be one that only root has on PATH.
func Find(tb testing.TB, name string) string {
	tb.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	tb.Fatalf("there is no %s: run .ci/setup %s", name, name)
	return ""
}
