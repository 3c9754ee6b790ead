package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// numbers are how many processes of each role share the load.
var numbers = []int{1, 2, 4}

// written is what PostgreSQL has written since its start: transactions with a change, bytes of the write-ahead log, and
// the calls that have put it on the disk.
type written struct {
	transactions, bytes, syncs int64
}

func (w written) minus(before written) written {
	return written{w.transactions - before.transactions, w.bytes - before.bytes, w.syncs - before.syncs}
}

// measureProcesses compares one, two and four processes of each role with pgbench. All of them share one half of the
// processors, so that more processes have no more of them; PostgreSQL, Redis and the clients have the other half.
func (b *bench) measureProcesses(ctx context.Context) error {
	if err := b.pin(ctx); err != nil {
		return err
	}
	starts := []lane{{lanePgbench, b.counted(b.pgbench)}}
	verdicts := slices.Clone(starts)
	for i, n := range numbers {
		web := slices.Repeat([]string{"web"}, n)
		s, err := b.serve(ctx, fmt.Sprintf(laneWebs, n), b.address, b.redisURL+"0", web...)
		if err != nil {
			return err
		}
		starts = append(starts, lane{s.name, b.counted(s.measure)})
		for k, way := range []struct {
			name  string
			roles []string
		}{
			{fmt.Sprintf(laneAlls, n), slices.Repeat([]string{""}, n)},
			{fmt.Sprintf(laneBoth, n, n), slices.Concat(web, slices.Repeat([]string{"worker"}, n))},
		} {
			s, err := b.execute(ctx, way.name, b.redisURL+strconv.Itoa(1+2*i+k), way.roles...)
			if err != nil {
				return err
			}
			verdicts = append(verdicts, lane{s.name, b.counted(s.measure)})
		}
	}
	clients := slices.Max(b.options.clients)
	if err := b.contest(ctx, []row{{workMany, clients}, {workHot, clients}}, starts...); err != nil {
		return err
	}
	return b.contest(ctx, []row{{workVerdicts, clients}}, verdicts...)
}

// pin gives the first half of the processors to PostgreSQL, Redis and this process until the end of the part, and the
// other half to what is started from now on.
func (b *bench) pin(ctx context.Context) error {
	all := runtime.NumCPU()
	if all < 2 { //nolint:mnd // halves
		return errors.New("there is one processor, and two are needed")
	}
	half := all / 2 //nolint:mnd // halves
	if err := b.place(ctx, fmt.Sprintf("0-%d", half-1)); err != nil {
		return err
	}
	b.pinned = fmt.Sprintf("%d-%d", half, all-1)
	b.atEnd(func(ctx context.Context) error {
		b.pinned = ""
		return b.place(ctx, fmt.Sprintf("0-%d", all-1))
	})
	return nil
}

// place moves the processes beside the service to some processors. A session that PostgreSQL opens later is where its
// main process is.
func (b *bench) place(ctx context.Context, processors string) error {
	running, err := coretest.Processes()
	if err != nil {
		return err
	}
	servers := slices.Concat(b.meter[ofPostgres], b.meter[ofRedis])
	moved := append(slices.Clone(servers), os.Getpid())
	for id, process := range running {
		if slices.Contains(servers, process.Parent) {
			moved = append(moved, id)
		}
	}
	for _, id := range moved {
		cmd := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", processors, strconv.Itoa(id))
		output, err := cmd.CombinedOutput()
		if _, gone := os.Stat("/proc/" + strconv.Itoa(id)); err != nil && gone == nil {
			return fmt.Errorf("pin process %d (taskset of util-linux): %w: %s", id, err, output)
		}
	}
	return nil
}

// command is a program on the processors that are for what is measured.
func (b *bench) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	if b.pinned == "" {
		return exec.CommandContext(ctx, program, args...)
	}
	return exec.CommandContext(ctx, "taskset", append([]string{"--cpu-list", b.pinned, program}, args...)...)
}

// counted adds to a sample what PostgreSQL has written meanwhile.
func (b *bench) counted(
	measure func(context.Context, row, time.Duration) (sample, error),
) func(context.Context, row, time.Duration) (sample, error) {
	return func(ctx context.Context, r row, duration time.Duration) (sample, error) {
		before, err := b.written(ctx)
		if err != nil {
			return sample{}, err
		}
		got, err := measure(ctx, r, duration)
		if err != nil {
			return sample{}, err
		}
		after, err := b.written(ctx)
		got.written = after.minus(before)
		return got, err
	}
}

// written asks for numbers that are exact but for the calls, which sessions tell of once a second.
func (b *bench) written(ctx context.Context) (written, error) {
	var w written
	err := b.db.QueryRow(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
		pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint, wal_sync FROM pg_stat_wal`).
		Scan(&w.transactions, &w.bytes, &w.syncs)
	if err != nil {
		return written{}, fmt.Errorf("read what was written: %w", err)
	}
	return w, nil
}
