package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// tick is the unit of the times in /proc on every Linux.
const tick = time.Second / 100

// cpuTimes are the processor time that each side has used.
type cpuTimes struct {
	postgres, service, redis, load time.Duration
}

func (c cpuTimes) sub(before cpuTimes) cpuTimes {
	return cpuTimes{
		postgres: c.postgres - before.postgres, service: c.service - before.service, redis: c.redis - before.redis,
		load: c.load - before.load,
	}
}

// meter reads the processor times. Where there is no /proc it knows those of this process alone.
type meter struct {
	// services are the processes of the service, whose children count as well.
	services []int
	postgres int
	// redis is 0 where no server of its own is used.
	redis int
}

// newMeter finds the server's process through the file that it keeps beside its data.
func newMeter(service int, cluster string) (meter, error) {
	text, err := os.ReadFile(filepath.Join(cluster, "data", "postmaster.pid"))
	if err != nil {
		return meter{}, fmt.Errorf("find PostgreSQL: %w", err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	postgres, err := strconv.Atoi(strings.TrimSpace(first))
	if err != nil {
		return meter{}, fmt.Errorf("find PostgreSQL: %w", err)
	}
	return meter{services: []int{service}, postgres: postgres}, nil
}

func (m meter) read() (cpuTimes, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return cpuTimes{}, fmt.Errorf("read processor time: %w", err)
	}
	times := cpuTimes{load: time.Duration(usage.Utime.Nano() + usage.Stime.Nano())}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return cpuTimes{}, fmt.Errorf("list processes: %w", err)
	}
	all := make(map[int]processStat)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // Processes end while the list is read.
		}
		if pid, stat, ok := parseStat(text); ok {
			all[pid] = stat
		}
	}
	for _, service := range m.services {
		times.service += familyTime(all, service)
	}
	times.redis, times.postgres = familyTime(all, m.redis), familyTime(all, m.postgres)
	return times, nil
}

// processStat is what a process has used, those of its children that have ended included.
type processStat struct {
	parent int
	used   time.Duration
}

// familyTime adds up a server's process and its children, which PostgreSQL has one of for each session.
func familyTime(all map[int]processStat, server int) time.Duration {
	total := all[server].used
	for _, child := range all {
		if server != 0 && child.parent == server {
			total += child.used
		}
	}
	return total
}

// parseStat reads a line of /proc/PID/stat.
func parseStat(text []byte) (int, processStat, bool) {
	const parent, user, endedSystem = 1, 11, 14
	pid, err := strconv.Atoi(string(text[:max(bytes.IndexByte(text, ' '), 0)]))
	// The name before the last parenthesis may hold anything.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if err != nil || len(fields) <= endedSystem {
		return 0, processStat{}, false
	}
	var stat processStat
	stat.parent, _ = strconv.Atoi(fields[parent])
	for _, field := range fields[user : endedSystem+1] {
		ticks, _ := strconv.Atoi(field)
		stat.used += time.Duration(ticks) * tick
	}
	return pid, stat, true
}
