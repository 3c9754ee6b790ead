package postgres

import (
	"context"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
	"github.com/simplevalidations/simplevalidations/core/embedded"
)

// Pair is a PostgreSQL and its synchronous standby. They end with their test.
type Pair struct {
	primary, standby *embedded.Postgres
	link             *program.Link
	dir              string
	// log is what servers have said that have ended since.
	log strings.Builder
}

// The folders of the servers, of which either may be that of the primary later.
const firstFolder, secondFolder = "first", "second"

// StartPair returns when commits wait for the standby. The statements prepare the first primary, which is then started
// anew.
func StartPair(tb testing.TB, statements ...string) *Pair {
	tb.Helper()
	p := &Pair{dir: coretest.OpenFolder(tb)}
	p.primary = coretest.StartPostgres(tb, filepath.Join(p.dir, firstFolder))
	p.link = program.NewLink(tb, "unix", p.Socket(tb))
	// A standby that has lost the primary looks for it again so often.
	coretest.Prepare(tb, p.primary.URL(), "ALTER SYSTEM SET wal_retrieve_retry_interval = '100ms'")
	for _, statement := range statements {
		coretest.Prepare(tb, p.primary.URL(), statement)
	}
	if len(statements) > 0 {
		p.primary = p.again(tb, p.primary)
	}
	p.addStandby(tb, secondFolder)
	return p
}

// addStandby returns when commits wait for a new standby.
func (p *Pair) addStandby(tb testing.TB, folder string) {
	tb.Helper()
	p.copyPrimary(tb, folder)
	p.standby = coretest.StartPostgres(tb, filepath.Join(p.dir, folder))
	coretest.Prepare(tb, p.primary.URL(), "ALTER SYSTEM SET synchronous_standby_names = '*'")
	coretest.Prepare(tb, p.primary.URL(), "SELECT pg_reload_conf()")
	p.awaitStandby(tb)
}

// Socket is where the primary answers.
func (p *Pair) Socket(tb testing.TB) string {
	tb.Helper()
	return filepath.Join(hostOf(tb, p.primary), ".s.PGSQL.5432")
}

// URL names both servers and asks for the one that can be written to.
func (p *Pair) URL(tb testing.TB) string {
	tb.Helper()
	query := url.Values{
		"host": {hostOf(tb, p.primary) + "," + hostOf(tb, p.standby)}, "port": {"5432,5432"}, "user": {"app"},
		"sslmode": {"disable"}, "target_session_attrs": {"read-write"},
	}
	return "postgres:///app?" + query.Encode()
}

// PrimaryURL is the address of the primary.
func (p *Pair) PrimaryURL() string { return p.primary.URL() }

// StandbyURL is the address of the standby.
func (p *Pair) StandbyURL() string { return p.standby.URL() }

// Loss is a way in which a standby is lost, and comes back.
type Loss struct {
	Name             string
	strike, takeBack func(tb testing.TB, p *Pair)
}

// Losses are the ways to lose a standby.
func Losses() []Loss {
	return []Loss{
		{
			Name:   "Killed",
			strike: func(tb testing.TB, p *Pair) { tb.Helper(); kill(tb, p.standby) },
			takeBack: func(tb testing.TB, p *Pair) {
				tb.Helper()
				p.standby = p.again(tb, p.standby)
			},
		},
		{
			Name:     "Frozen",
			strike:   func(tb testing.TB, p *Pair) { tb.Helper(); signal(tb, p.standby, syscall.SIGSTOP) },
			takeBack: func(tb testing.TB, p *Pair) { tb.Helper(); signal(tb, p.standby, syscall.SIGCONT) },
		},
		{
			Name: "CutOff",
			strike: func(_ testing.TB, p *Pair) {
				p.link.Become(program.Trouble{Refuse: true})
				p.link.Cut(program.Both, false)
			},
			takeBack: func(_ testing.TB, p *Pair) { p.link.Mend() },
		},
	}
}

// Lose loses the standby.
func (p *Pair) Lose(tb testing.TB, loss Loss) {
	tb.Helper()
	loss.strike(tb, p)
	if loss.Name == "Frozen" {
		tb.Cleanup(func() { signal(tb, p.standby, syscall.SIGCONT) }) // Otherwise it could not be stopped.
	}
}

// TakeBack ends the loss. The standby catches up by itself as long as the primary lives.
func (p *Pair) TakeBack(tb testing.TB, loss Loss) {
	tb.Helper()
	loss.takeBack(tb, p)
}

// KillPrimary ends the primary and all its processes at once, as the loss of its machine does.
func (p *Pair) KillPrimary(tb testing.TB) {
	tb.Helper()
	kill(tb, p.primary)
}

// Promote makes the standby the primary, whatever it lacks. It then waits for no standby of its own until Renew.
func (p *Pair) Promote(tb testing.TB) {
	tb.Helper()
	p.awaitOn(tb, p.standby, "the standby is promoted",
		// Who waits inside of the function stands in the way of what is replayed before, and is canceled.
		"SELECT CASE WHEN pg_is_in_recovery() THEN NOT pg_promote(false) ELSE true END")
	p.primary, p.standby = p.standby, p.primary
}

// Renew makes a new standby in the place of the primary that was lost.
func (p *Pair) Renew(tb testing.TB) {
	tb.Helper()
	p.stop(tb, p.standby)
	folder := firstFolder
	if filepath.Base(p.standby.Dir()) == secondFolder {
		folder = secondFolder
	}
	if err := os.RemoveAll(filepath.Join(p.dir, folder)); err != nil {
		tb.Fatalf("remove the lost primary: %v", err)
	}
	p.link.Lead("unix", p.Socket(tb))
	p.addStandby(tb, folder)
}

// Crash ends the primary without a checkpoint and with sessions in the middle of things.
func (p *Pair) Crash(tb testing.TB) {
	tb.Helper()
	ended, end := context.WithCancel(context.WithoutCancel(tb.Context()))
	end()
	if err := p.primary.Stop(ended); err != nil {
		tb.Errorf("stop the primary: %v", err)
	}
}

// Revive starts each of the two again that has ended.
func (p *Pair) Revive(tb testing.TB) {
	tb.Helper()
	for _, server := range []**embedded.Postgres{&p.primary, &p.standby} {
		select {
		case <-(*server).Done():
			*server = p.again(tb, *server)
		default:
		}
	}
}

// Restart ends the primary as an update does and starts it again.
func (p *Pair) Restart(tb testing.TB) {
	tb.Helper()
	p.primary = p.again(tb, p.primary)
	p.awaitStandby(tb)
}

// again starts a server anew, after its end.
func (p *Pair) again(tb testing.TB, server *embedded.Postgres) *embedded.Postgres {
	tb.Helper()
	p.stop(tb, server)
	return coretest.StartPostgres(tb, filepath.Join(p.dir, filepath.Base(server.Dir())))
}

// stop ends a server, which may have ended before.
func (p *Pair) stop(tb testing.TB, server *embedded.Postgres) {
	tb.Helper()
	if err := server.Stop(context.WithoutCancel(tb.Context())); err != nil {
		tb.Fatalf("stop %s: %v", server.Dir(), err)
	}
	p.keepLog(tb, server)
}

// Said is what the primary and those that have ended have said.
func (p *Pair) Said(tb testing.TB) string {
	tb.Helper()
	return p.log.String() + logOf(tb, p.primary)
}

// keepLog keeps what a server has said, as the next one in its folder begins its log anew.
func (p *Pair) keepLog(tb testing.TB, server *embedded.Postgres) {
	tb.Helper()
	p.log.WriteString(logOf(tb, server))
}

func logOf(tb testing.TB, server *embedded.Postgres) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(server.Dir(), "postgres.log"))
	if err != nil {
		tb.Errorf("read the log of a server: %v", err)
	}
	return string(text)
}

// copyPrimary makes the standby's data, which belong to the user of the primary's.
func (p *Pair) copyPrimary(tb testing.TB, folder string) {
	tb.Helper()
	base := filepath.Join(p.dir, folder)
	if err := os.Mkdir(base, 0o755); err != nil {
		tb.Fatalf("make a folder: %v", err)
	}
	data := filepath.Join(base, "data")
	copying := exec.CommandContext(tb.Context(), filepath.Join(p.primary.BinDir(), "pg_basebackup"), "-h", "127.0.0.1",
		"-p", portOf(tb, p.link), "-U", "app", "-D", data, "-R", "-C", "-S", "standby", "--checkpoint=fast")
	if output, err := copying.CombinedOutput(); err != nil {
		tb.Fatalf("copy the primary: %v: %s", err, output)
	}
	found, err := os.Stat(filepath.Join(p.primary.Dir(), "data"))
	if err != nil {
		tb.Fatalf("find the primary's user: %v", err)
	}
	owner, ok := found.Sys().(*syscall.Stat_t)
	if !ok {
		tb.Fatal("the primary's data have no owner")
	}
	err = filepath.WalkDir(base, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
	if err != nil {
		tb.Fatalf("give the copy to the primary's user: %v", err)
	}
}

// awaitStandby waits until commits wait for the standby and for nothing else.
func (p *Pair) awaitStandby(tb testing.TB) {
	tb.Helper()
	p.awaitOn(tb, p.primary, "the standby is synchronous",
		"SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')")
}

// awaitOn waits until a query of a server answers true.
func (*Pair) awaitOn(tb testing.TB, server *embedded.Postgres, what, query string) {
	tb.Helper()
	conn, err := pgx.Connect(tb.Context(), server.URL())
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	defer conn.Close(tb.Context())
	program.Await(tb, what, func() bool {
		var isTrue bool
		return conn.QueryRow(tb.Context(), query).Scan(&isTrue) == nil && isTrue
	})
}

// kill ends a server with all its processes at once.
func kill(tb testing.TB, server *embedded.Postgres) {
	tb.Helper()
	signal(tb, server, syscall.SIGKILL)
	<-server.Done()
}

// signal sends a signal to all processes of a server.
func signal(tb testing.TB, server *embedded.Postgres, sig syscall.Signal) {
	tb.Helper()
	program.SignalPostgres(tb, filepath.Join(server.Dir(), "data"), sig)
}

// portOf is where the standby finds the primary on this machine.
func portOf(tb testing.TB, link *program.Link) string {
	tb.Helper()
	_, port, err := net.SplitHostPort(link.Address())
	if err != nil {
		tb.Fatalf("split the address of the link: %v", err)
	}
	return port
}

// hostOf returns the folder of a server's socket.
func hostOf(tb testing.TB, server *embedded.Postgres) string {
	tb.Helper()
	config, err := pgx.ParseConfig(server.URL())
	if err != nil {
		tb.Fatalf("read the address of a server: %v", err)
	}
	return config.Host
}
