package main

import (
	"bufio"
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

	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/docs"
)

//go:embed start.sql
var startScript string

//go:embed replay.sql
var replayScript string

//go:embed execute.sql
var executeScript string

const (
	// logTime is the place of the latency, in microseconds, in a line of pgbench's log.
	logTime = 2

	fillClients  = 8
	fillDuration = 3 * time.Second
)

// yardstick runs pgbench.
type yardstick struct {
	world *world
	// url and db are of the database that pgbench writes to.
	url       string
	db        *pgx.Conn
	variables []string
	meter     meter
}

func newYardstick(ctx context.Context, w *world, m meter) (yardstick, error) {
	var definition string
	err := w.db.QueryRow(ctx, `SELECT '\x' || encode(definition_digest, 'hex') FROM workflow_versions LIMIT 1`).
		Scan(&definition)
	if err != nil {
		return yardstick{}, fmt.Errorf("find the definition: %w", err)
	}
	content, err := docs.Sample(document)
	if err != nil {
		return yardstick{}, err
	}
	for name, script := range map[string]string{
		"start.sql": startScript, "replay.sql": replayScript, "verdict.sql": startScript + executeScript,
	} {
		if err := os.WriteFile(filepath.Join(w.dir, name), []byte(script), 0o600); err != nil {
			return yardstick{}, fmt.Errorf("write script: %w", err)
		}
	}
	digest := fmt.Sprintf(`\x%x`, sha256.Sum256(content))
	headers := fmt.Sprintf(`{"content_type": "application/json", "location": "/api/runs/%s/"}`, orgID(1))
	y := yardstick{world: w, url: w.postgres.URL(), db: w.db, meter: m}
	for name, value := range map[string]string{
		"org_prefix": orgPrefix, "workflow_prefix": workflowPrefix, "key_prefix": keyPrefix, "path": startPath(1),
		"definition": definition, "size": strconv.Itoa(len(content)), "digest": digest, "headers": headers,
		"document": byteaText(content), "answer": byteaText(w.sampleAnswer),
	} {
		y.variables = append(y.variables, "-D", name+"="+value)
	}
	return y, nil
}

// byteaText writes bytes as PostgreSQL reads them when they are mostly text.
func byteaText(content []byte) string { return strings.ReplaceAll(string(content), `\`, `\\`) }

// fill writes what a service that has run for a while would have, and has PostgreSQL look at it. The plans for tables
// that were empty when they were made are not those that matter.
func (y yardstick) fill(ctx context.Context) error {
	for _, what := range []work{workMany, workHot} {
		if _, err := y.measure(ctx, what, fillClients, fillDuration); err != nil {
			return err
		}
	}
	if _, err := y.db.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("gather statistics: %w", err)
	}
	return nil
}

// measure runs the script of the work for the given time. The service is frozen meanwhile, as it would hand over the
// jobs that pgbench stages, and it never sees them.
func (y yardstick) measure(ctx context.Context, what work, clients int, duration time.Duration) (sample, error) {
	var result sample
	err := y.world.service.frozen(func() error {
		var err error
		result, err = y.run(ctx, what, clients, duration)
		return err
	})
	if err != nil {
		return sample{}, err
	}
	if _, err := y.db.Exec(ctx, "TRUNCATE staged_jobs"); err != nil {
		return sample{}, fmt.Errorf("forget staged jobs: %w", err)
	}
	return result, nil
}

func (y yardstick) run(ctx context.Context, what work, clients int, duration time.Duration) (sample, error) {
	logs := filepath.Join(y.world.dir, "pgbench-latencies")
	before, err := y.meter.read()
	if err != nil {
		return sample{}, err
	}
	cmd := exec.CommandContext(ctx, y.world.pgbench(), y.args(what, clients, duration, logs)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopPatience
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("pgbench, %s: %w: %s", what, err, bytes.TrimSpace(stderr.Bytes()))
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

func (y yardstick) args(what work, clients int, duration time.Duration, logs string) []string {
	first, last, script := 1, manyTenants, "start.sql"
	switch what {
	case workHot:
		first, last = allTenants, allTenants
	case workReplay:
		script = "replay.sql"
	case workVerdicts:
		script = "verdict.sql"
	case workHotVerdicts:
		first, last, script = allTenants, allTenants, "verdict.sql"
	default:
	}
	return slices.Concat(y.variables, []string{
		"-D", "first=" + strconv.Itoa(first), "-D", "last=" + strconv.Itoa(last),
		"--no-vacuum", "--protocol=prepared", "--client=" + strconv.Itoa(clients),
		"--jobs=" + strconv.Itoa(min(clients, runtime.NumCPU())), "--time=" + strconv.Itoa(int(duration.Seconds())),
		"--file=" + filepath.Join(y.world.dir, script), "--log", "--log-prefix=" + logs, y.url,
	})
}

// parsePgbench reads what pgbench prints at its end.
func parsePgbench(output string) (sample, error) {
	done, err := reported(output, `transactions actually processed: (\d+)`)
	if err != nil {
		return sample{}, err
	}
	failed, err := reported(output, `number of failed transactions: (\d+)`)
	if err != nil {
		return sample{}, err
	}
	rate, err := reported(output, `tps = ([0-9.]+) \(without`)
	if err != nil {
		return sample{}, err
	}
	if failed > 0 || done == 0 || rate == 0 {
		return sample{}, fmt.Errorf("pgbench did %.0f transactions and failed in %.0f", done, failed)
	}
	return sample{requests: int(done), elapsed: time.Duration(done / rate * float64(time.Second))}, nil
}

func reported(output, pattern string) (float64, error) {
	found := regexp.MustCompile(pattern).FindStringSubmatch(output)
	if found == nil {
		return 0, fmt.Errorf("pgbench does not say %q: %s", pattern, output)
	}
	return strconv.ParseFloat(found[1], 64)
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
		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		part, err := parseLatencies(text)
		if err := errors.Join(err, os.Remove(log)); err != nil {
			return nil, err
		}
		all = append(all, part...)
	}
	slices.Sort(all)
	return all, nil
}

func parseLatencies(text []byte) (latencies, error) {
	var all latencies
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) <= logTime {
			return nil, fmt.Errorf("pgbench's log has the line %q", lines.Text())
		}
		micros, err := strconv.Atoi(fields[logTime])
		if err != nil {
			return nil, fmt.Errorf("pgbench's log: %w", err)
		}
		all = append(all, time.Duration(micros)*time.Microsecond)
	}
	return all, lines.Err()
}
