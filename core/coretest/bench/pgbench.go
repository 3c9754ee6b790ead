package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/simplevalidations/simplevalidations/docs"
)

//go:embed start.sql
var startScript string

//go:embed replay.sql
var replayScript string

//go:embed execute.sql
var executeScript string

// pgbench runs the program of that name.
type pgbench struct {
	world     *world
	variables []string
	meter     meter
}

func newPgbench(ctx context.Context, w *world, m meter) (pgbench, error) {
	var digest string
	err := w.db.QueryRow(ctx, `SELECT '\x' || encode(definition_digest, 'hex') FROM workflow_versions LIMIT 1`).
		Scan(&digest)
	if err != nil {
		return pgbench{}, fmt.Errorf("find the definition: %w", err)
	}
	content, err := docs.Sample(document)
	if err != nil {
		return pgbench{}, err
	}
	for name, script := range map[string]string{
		"start.sql": startScript, "replay.sql": replayScript, "verdict.sql": startScript + executeScript,
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(script), 0o600); err != nil {
			return pgbench{}, fmt.Errorf("write script: %w", err)
		}
	}
	y := pgbench{world: w, meter: m}
	for name, value := range map[string]string{
		"org_prefix": orgPrefix, "workflow_prefix": workflowPrefix, "key_prefix": keyPrefix, "path": startPath(1),
		"definition": digest, "size": strconv.Itoa(len(content)), "digest": fmt.Sprintf(`\x%x`, sha256.Sum256(content)),
		"headers":  fmt.Sprintf(`{"content_type": "application/json", "location": "/api/runs/%s/"}`, orgID(1)),
		"document": byteaText(content), "answer": byteaText(w.tenants[0].first.body),
	} {
		y.variables = append(y.variables, "-D", name+"="+value)
	}
	return y, nil
}

// byteaText writes bytes as PostgreSQL reads them when they are mostly text.
func byteaText(content []byte) string { return strings.ReplaceAll(string(content), `\`, `\\`) }

// lane measures pgbench. The caller has frozen the service, which would hand over the jobs that pgbench stages.
func (y pgbench) lane(duration time.Duration) lane {
	return lane{lanePgbench, func(ctx context.Context, r row) (sample, error) { return y.run(ctx, r, duration) }}
}

// run runs the script of the work for the given time.
func (y pgbench) run(ctx context.Context, r row, duration time.Duration) (sample, error) {
	logs := filepath.Join(y.world.dir, "pgbench-latencies")
	before, err := y.meter.read()
	if err != nil {
		return sample{}, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(y.world.postgres.BinDir(), "pgbench"), y.args(r, duration, logs)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("pgbench, %s: %w: %s", r.what, err, bytes.TrimSpace(stderr.Bytes()))
	}
	after, err := y.meter.read()
	if err != nil {
		return sample{}, err
	}
	result, err := parsePgbench(stdout.String())
	if err != nil {
		return sample{}, err
	}
	result.cpu = after.sub(before)
	result.cpu.load = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	result.latencies, err = takeLatencies(logs)
	return result, err
}

func (y pgbench) args(r row, duration time.Duration, logs string) []string {
	first, last, script := 1, manyTenants, "start.sql"
	if r.what == workHot || r.what == workHotVerdicts {
		first, last = allTenants, allTenants
	}
	if r.what == workReplay {
		script = "replay.sql"
	}
	if r.what == workVerdicts || r.what == workHotVerdicts {
		script = "verdict.sql"
	}
	return slices.Concat(y.variables, []string{
		"-D", "first=" + strconv.Itoa(first), "-D", "last=" + strconv.Itoa(last),
		"--no-vacuum", "--protocol=prepared", "--client=" + strconv.Itoa(r.clients),
		"--jobs=" + strconv.Itoa(min(r.clients, runtime.NumCPU())), "--time=" + strconv.Itoa(int(duration.Seconds())),
		"--file=" + filepath.Join(y.world.dir, script), "--log", "--log-prefix=" + logs, y.world.postgres.URL(),
	})
}

// parsePgbench reads what pgbench prints at its end.
func parsePgbench(output string) (sample, error) {
	found := regexp.MustCompile(`(?s)transactions actually processed: (\d+)\n.*number of failed transactions: 0 .*` +
		`tps = ([0-9.]+) \(without`).FindStringSubmatch(output)
	if found == nil {
		return sample{}, fmt.Errorf("pgbench did not do all of its transactions: %s", output)
	}
	done, _ := strconv.ParseFloat(found[1], 64)
	perSecond, _ := strconv.ParseFloat(found[2], 64)
	if done == 0 || perSecond == 0 {
		return sample{}, fmt.Errorf("pgbench did nothing: %s", output)
	}
	return sample{requests: int(done), elapsed: time.Duration(done / perSecond * float64(time.Second))}, nil
}

// takeLatencies reads and removes the logs that pgbench's threads have written.
func takeLatencies(prefix string) (latencies, error) {
	logs, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return nil, fmt.Errorf("find logs: %w", err)
	}
	var all latencies
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err := errors.Join(err, os.Remove(log)); err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		for line := range strings.Lines(string(text)) {
			// Client, transaction, microseconds.
			var ignored, micros int
			if _, err := fmt.Sscan(line, &ignored, &ignored, &micros); err != nil {
				return nil, fmt.Errorf("pgbench's log has the line %q", line)
			}
			all = append(all, time.Duration(micros)*time.Microsecond)
		}
	}
	slices.Sort(all)
	return all, nil
}
