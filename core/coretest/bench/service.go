package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/time/rate"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/docs"
)

const (
	// manyTenants organizations share the load in one half of the measurements; the one behind them carries it alone in
	// the other half.
	manyTenants = 1000
	allTenants  = manyTenants + 1

	// These are as in the script.
	orgPrefix      = "00000000-0000-7000-8000-"
	workflowPrefix = "00000000-0000-7000-9000-"
	secretPrefix   = "sv_bench-"

	// secretKey is the same in all processes, and protects nothing.
	secretKey = "dGhlIGtleSBvZiB0aGUgdGVzdHMnIGluc3RhbGxhdCE="

	verdictLimit = 10 * time.Minute
	pendingRuns  = "SELECT EXISTS (SELECT FROM validation_runs WHERE sweep_after IS NOT NULL)"
)

// service is what is loaded: processes that are frozen while others are measured, and their organizations.
type service struct {
	name      string
	processes []*os.Process
	// addresses share the clients.
	addresses []string
	meter     meter
	db        *pgx.Conn
	tenants   []tenant
	// pending is a query for whether runs lack their verdict. It is empty where starts are measured alone.
	pending string
	// pace is how often clients send a request; nil is as often as they can.
	pace *rate.Limiter
	// purges says that keys expire.
	purges bool
	// spent says that a tenth of the organizations are over their quota.
	spent bool
}

// serve starts a frozen process for each of the roles of the service, "" being all of them. The surroundings are passed
// on, so that settings can be tried. Without the address of a Redis a process has one of its own.
func (b *bench) serve(ctx context.Context, name, database, redisURL string, roles ...string) (service, error) {
	s := service{name: name, meter: b.meter, db: b.db, tenants: b.starts.tenants}
	for _, role := range roles {
		address, err := freeAddress(ctx)
		if err != nil {
			return service{}, err
		}
		args, listen := []string{"serve"}, "SV_ADDR"
		if role != "" {
			args = append(args, "--only", role)
		}
		if role == "worker" {
			listen = "SV_METRICS_ADDR"
		} else {
			s.addresses = append(s.addresses, address)
		}
		cmd := b.command(context.WithoutCancel(ctx), filepath.Join(b.dir, "simplevalidations"), args...)
		cmd.Env = slices.Concat(os.Environ(), []string{
			"DATABASE_URL=" + database, "REDIS_URL=" + redisURL, listen + "=" + address,
			"SV_DATA_DIR=" + filepath.Join(b.dir, "data"),
			"SV_REQUESTS_PER_SECOND=0", "SV_ORG_REQUESTS_PER_SECOND=0", "SV_RUNS_PER_MINUTE=0", "SV_LOG_FORMAT=json",
			"SV_SECRET_KEY=" + secretKey,
		}, b.settings)
		log := "serve" + role + strconv.Itoa(len(s.processes)) + ".log"
		if err := b.add(ctx, &s, cmd, log, address+"/readyz/"); err != nil {
			return service{}, err
		}
	}
	return s, nil
}

// add starts a process of the service and freezes it.
func (b *bench) add(ctx context.Context, s *service, cmd *exec.Cmd, log, probe string) error {
	if err := b.startProcess(ctx, cmd, log, func(ctx context.Context) bool {
		return coretest.Answers(ctx, "http://"+probe)
	}); err != nil {
		return err
	}
	s.processes = append(s.processes, cmd.Process)
	s.meter[ofService] = append(s.meter[ofService], cmd.Process.Pid)
	return cmd.Process.Signal(syscall.SIGSTOP)
}

// execute starts the roles of the service as one that executes its runs and has run for a while.
func (b *bench) execute(ctx context.Context, name, redisURL string, roles ...string) (service, error) {
	s, err := b.serve(ctx, name, b.address, redisURL, roles...)
	if err != nil {
		return service{}, err
	}
	// What a service keeps in memory is there.
	_, err = s.measure(ctx, row{workReplay, warmClients}, warmDuration)
	s.pending = pendingRuns
	return s, err
}

// thawed does something while the service runs.
func (s service) thawed(do func() error) error {
	send := func(signal syscall.Signal) error {
		var failures []error
		for _, p := range s.processes {
			failures = append(failures, p.Signal(signal))
		}
		return errors.Join(failures...)
	}
	if err := send(syscall.SIGCONT); err != nil {
		return err
	}
	return errors.Join(do(), send(syscall.SIGSTOP))
}

// during measures what something takes, until each run that it starts has its verdict.
func (s service) during(ctx context.Context, do func() error) (sample, error) {
	before, err := s.meter.read()
	if err != nil {
		return sample{}, err
	}
	begun := time.Now()
	if err := do(); err != nil {
		return sample{}, err
	}
	if err := poll(ctx, verdictLimit, "until all runs have their verdict", func(ctx context.Context) (bool, error) {
		pending := s.pending != ""
		if !pending {
			return true, nil
		}
		err := s.db.QueryRow(ctx, s.pending).Scan(&pending)
		return !pending, err
	}); err != nil {
		return sample{}, err
	}
	got := sample{begun: begun, elapsed: time.Since(begun)}
	after, err := s.meter.read()
	for side := range sides {
		got.cpu[side] = after[side] - before[side]
	}
	return got, err
}

// verdicts returns how long each run that counts took from its creation to its verdict.
func (s service) verdicts(ctx context.Context, what work, since time.Time, started int) ([]time.Duration, error) {
	counted := "%"
	if what == workQuiet {
		counted = orgID(1)
	}
	rows, _ := s.db.Query(ctx, `
		SELECT (extract(epoch FROM ended_at - created_at) * 1000000000)::bigint FROM validation_runs
		WHERE source = 'API' AND created_at >= $1 AND state = 'COMPLETED' AND result = 'PASS'
			AND org_id::text LIKE $2`, since, counted) // Its error is that of the rows.
	all, err := pgx.CollectRows(rows, pgx.RowTo[time.Duration])
	if err != nil {
		return nil, fmt.Errorf("read the verdicts: %w", err)
	}
	if len(all) != started {
		return nil, fmt.Errorf("%d runs passed, want all %d that were started", len(all), started)
	}
	return all, nil
}

//go:embed check.sql
var checkScript string

// check compares what the database holds with what was acknowledged. A run too many is one that a customer pays for and
// nobody has asked for; a run too few is a lost one.
func (s service) check(ctx context.Context) error {
	acknowledged := make([]int64, len(s.tenants))
	for i, t := range s.tenants {
		acknowledged[i] = t.acknowledged.Load()
	}
	rows, _ := s.db.Query(ctx, checkScript, acknowledged, s.purges) // Its error is that of the rows.
	wrong, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if len(wrong) > 0 {
		err = errors.Join(err, errors.New(strings.Join(wrong, "\n")))
	}
	return err
}

// seedScript makes the organizations, each with a token, a workflow and no limit on its runs.
//
//go:embed seed.sql
var seedScript string

// samples are the document of every request, and the one step of every workflow.
type samples struct {
	document, step string
}

func (s samples) seed(ctx context.Context, db *pgx.Conn) error {
	// Only the simple protocol takes several statements with a parameter.
	if _, err := db.Exec(ctx, seedScript, pgx.QueryExecModeSimpleProtocol, s.definition()); err != nil {
		return fmt.Errorf("fill tables: %w", err)
	}
	return nil
}

func readSamples() (samples, error) {
	document, err := docs.Sample("good/meter-readings.csv")
	if err != nil {
		return samples{}, err
	}
	step, err := docs.Sample("schemas/meter-readings.table-step.json")
	return samples{string(document), string(step)}, err
}

func (s samples) definition() string {
	return `{"accepts":["text/csv"],"steps":[{"id":"table","name":"Table","type":"table","config":` + s.step +
		`,"continue_on_failure":false}]}`
}

// numbered is the end of an organization's ids and token.
func numbered(number int) string { return fmt.Sprintf("%012d", number) }

func orgID(number int) string { return orgPrefix + numbered(number) }

func startPath(number int) string {
	return "/api/workflows/" + workflowPrefix + numbered(number) + "/start/"
}

// The sides whose processor time is measured.
const (
	ofService = iota
	ofPostgres
	ofRedis
	ofLoad
	sides
)

// meter has the processes of each side.
type meter [sides][]int

// cpuTimes are the processor time that each side has used.
type cpuTimes [sides]time.Duration

// read adds up the processes and their children, of which PostgreSQL has one for each session.
func (m meter) read() (cpuTimes, error) {
	all, err := coretest.Processes()
	var times cpuTimes
	for side, ids := range m {
		for id, process := range all {
			if slices.Contains(ids, id) || slices.Contains(ids, process.Parent) {
				times[side] += process.Used
			}
		}
	}
	times[ofLoad] = all[os.Getpid()].Used
	return times, err
}

const (
	// stopPatience is what a server gets to end by itself.
	stopPatience  = 30 * time.Second
	readyPatience = time.Minute
	pollInterval  = 20 * time.Millisecond
	logTail       = 2048
)

// startProcess starts a server whose messages go to a file, and returns when it answers, or with the reason why it
// never will. It is stopped at the end.
func (b *bench) startProcess(
	ctx context.Context, cmd *exec.Cmd, log string, answers func(context.Context) bool,
) error {
	log = filepath.Join(b.dir, log)
	messages, err := os.Create(log)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	defer messages.Close()
	cmd.Stdout, cmd.Stderr = messages, messages
	done, err := coretest.StartCommand(cmd)
	if err != nil {
		return err
	}
	b.atEnd(func(context.Context) error { return stop(cmd, done) })
	return poll(ctx, readyPatience, "for "+filepath.Base(cmd.Path), func(ctx context.Context) (bool, error) {
		select {
		case <-done:
			text := readFile(log)
			return false, fmt.Errorf("it ended at its start: %s", text[max(0, len(text)-logTail):])
		default:
			return answers(ctx), nil
		}
	})
}

// stop asks a server to end, which may be frozen, and waits for it.
func stop(cmd *exec.Cmd, done <-chan struct{}) error {
	err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Process.Signal(syscall.SIGCONT))
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", filepath.Base(cmd.Path), err)
	}
	select {
	case <-done:
		return nil
	case <-time.After(stopPatience):
	}
	err = cmd.Process.Kill()
	<-done
	return errors.Join(fmt.Errorf("%s did not end when asked to", filepath.Base(cmd.Path)), err)
}

// poll waits until something is done.
func poll(ctx context.Context, limit time.Duration, what string, done func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		is, err := done(ctx)
		if is {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return fmt.Errorf("wait %s: %w", what, err)
		}
		time.Sleep(pollInterval)
	}
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
