package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

//go:embed start.sql
var startScript string

//go:embed replay.sql
var replayScript string

//go:embed execute.sql
var executeScript string

// pgbench runs the program of that name with the script of the work for the given time. All services are frozen, which
// would hand over the jobs that it stages.
func (b *bench) pgbench(ctx context.Context, r row, duration time.Duration) (sample, error) {
	script, logs := filepath.Join(b.dir, "pgbench.sql"), filepath.Join(b.dir, "pgbench-latencies")
	text, first, last := startScript, 1, manyTenants
	if r.what == workReplay {
		text = replayScript
	}
	if r.what == workVerdicts || r.what == workHotVerdicts {
		text += executeScript
	}
	if r.what == workHot || r.what == workHotVerdicts {
		first, last = allTenants, allTenants
	}
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return sample{}, fmt.Errorf("write script: %w", err)
	}
	cmd := b.command(ctx, filepath.Join(b.postgres.BinDir(), "pgbench"), append(b.variables(),
		"-D", "first="+strconv.Itoa(first), "-D", "last="+strconv.Itoa(last), "--file="+script,
		"--no-vacuum", "--protocol=prepared", "--client="+strconv.Itoa(r.clients),
		"--jobs="+strconv.Itoa(min(r.clients, runtime.NumCPU())), "--time="+strconv.Itoa(int(duration.Seconds())),
		"--log", "--log-prefix="+logs, b.address)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	took, err := service{meter: b.meter}.during(ctx, func() error {
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("pgbench, %s: %w: %s", r.what, err, bytes.TrimSpace(output))
		}
		return nil
	})
	if err != nil {
		return sample{}, err
	}
	got, err := readLogs(logs)
	got.cpu = took.cpu
	got.cpu[ofLoad] = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return got, err
}

// variables are those of the scripts.
func (b *bench) variables() []string {
	var args []string
	for name, value := range map[string]string{
		"org_prefix": orgPrefix, "workflow_prefix": workflowPrefix, "key_prefix": keyPrefix, "path": startPath(1),
		"definition": digest(b.definition()), "size": strconv.Itoa(len(b.document)), "digest": digest(b.document),
		"headers":  fmt.Sprintf(`{"content_type": "application/json", "location": "/api/runs/%s/"}`, orgID(1)),
		"document": byteaText(b.document), "answer": byteaText(string(b.starts.tenants[0].first.body)),
	} {
		args = append(args, "-D", name+"="+value)
	}
	return args
}

func digest(text string) string { return fmt.Sprintf(`\x%x`, sha256.Sum256([]byte(text))) }

// byteaText writes bytes as PostgreSQL reads them when they are mostly text.
func byteaText(text string) string { return strings.ReplaceAll(text, `\`, `\\`) }

// readLogs reads and removes the logs that pgbench's threads have written. The time is that from the beginning of the
// first transaction to the end of the last.
func readLogs(prefix string) (sample, error) {
	logs, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return sample{}, fmt.Errorf("find logs: %w", err)
	}
	var all []time.Duration
	var begins, ends []time.Time
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err := errors.Join(err, os.Remove(log)); err != nil {
			return sample{}, fmt.Errorf("read log: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			// Client, transaction, microseconds or "failed", script, and when it ended.
			var ignored int
			var took, seconds, micros int64
			if _, err := fmt.Sscan(line, &ignored, &ignored, &took, &ignored, &seconds, &micros); err != nil {
				return sample{}, fmt.Errorf("pgbench's log has the line %q", line)
			}
			all = append(all, time.Duration(took)*time.Microsecond)
			end := time.Unix(seconds, micros*int64(time.Microsecond))
			begins, ends = append(begins, end.Add(-all[len(all)-1])), append(ends, end)
		}
	}
	if len(all) == 0 {
		return sample{}, errors.New("pgbench did nothing")
	}
	slices.Sort(all)
	elapsed := slices.MaxFunc(ends, time.Time.Compare).Sub(slices.MinFunc(begins, time.Time.Compare))
	return sample{requests: len(all), elapsed: elapsed, latencies: all}, nil
}

// startPeer starts one of the peers, with the organizations of the service.
func (b *bench) startPeer(ctx context.Context, name string, variables ...string) (service, error) {
	root, err := coretest.Root()
	if err != nil {
		return service{}, err
	}
	if err := b.goBuild(ctx, filepath.Join(root, "core", "coretest", "bench", "peers"), "peers", "."); err != nil {
		return service{}, err
	}
	s := service{name: name, meter: b.meter, tenants: slices.Clone(b.starts.tenants)}
	address, err := freeAddress(ctx)
	if err != nil {
		return service{}, err
	}
	s.addresses = []string{address}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(b.dir, "peers"))
	cmd.Env = slices.Concat(os.Environ(), []string{"ADDRESS=" + address}, variables)
	err = b.add(ctx, &s, cmd, "peers.log", address+"/livez/")
	return s, err
}

// startRiver starts the service that a Go user would build on River, in a schema of its own, and each organization's
// first run. It executes none unless it works.
func (b *bench) startRiver(ctx context.Context, works bool) (service, error) {
	address := b.address + "&search_path=river"
	db, err := b.connect(ctx, address)
	if err != nil {
		return service{}, err
	}
	if _, err := db.Exec(ctx, "DROP SCHEMA IF EXISTS river CASCADE; CREATE SCHEMA river"); err != nil {
		return service{}, fmt.Errorf("make the schema: %w", err)
	}
	variables := []string{"DATABASE_URL=" + address, "STEP=" + b.step}
	if works {
		variables = append(variables, "WORKERS=1")
	}
	s, err := b.startPeer(ctx, laneRiver, variables...)
	if err != nil {
		return service{}, err
	}
	s.db, s.tenants = db, b.newTenants()
	if works {
		s.pending = "SELECT EXISTS (SELECT FROM validation_runs WHERE state <> 'COMPLETED')"
	}
	if err := s.prime(ctx); err != nil {
		return service{}, err
	}
	return s, analyze(ctx, db)
}

// startBare starts the bare handler with one answer of the service for all organizations.
func (b *bench) startBare(ctx context.Context) (service, error) {
	first := b.starts.tenants[0]
	var replay bytes.Buffer
	if err := b.starts.thawed(func() error {
		c, err := dial(ctx, b.starts.addresses[0])
		if err != nil {
			return err
		}
		defer c.close()
		c.reader = bufio.NewReader(io.TeeReader(c.conn, &replay))
		return first.replay(c)
	}); err != nil {
		return service{}, fmt.Errorf("take an answer: %w", err)
	}
	s, err := b.startPeer(ctx, laneBare, "ANSWER="+replay.String())
	for i := range s.tenants {
		s.tenants[i].first = first.first
	}
	return s, err
}
