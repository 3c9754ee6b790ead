package main

import (
	"bytes"
	"errors"
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

// Places in /proc/PID/stat, counted behind the program's name.
const (
	statParent   = 1
	statUser     = 11
	statSystem   = 12
	statEndedUse = 13
	statEndedSys = 14
	statFields   = 15
)

// cpuTimes are the processor time that each side has used.
type cpuTimes struct {
	postgres time.Duration
	service  time.Duration
	redis    time.Duration
	load     time.Duration
}

func (c cpuTimes) sub(before cpuTimes) cpuTimes {
	return cpuTimes{
		postgres: c.postgres - before.postgres, service: c.service - before.service, redis: c.redis - before.redis,
		load: c.load - before.load,
	}
}

func (c cpuTimes) total() time.Duration { return c.postgres + c.service + c.redis + c.load }

// meter reads the processor times. Where there is no /proc it knows those of this process alone.
type meter struct {
	// services are the processes of the service.
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
	load, err := ownTime()
	if err != nil {
		return cpuTimes{}, err
	}
	times := cpuTimes{load: load}
	for _, service := range m.services {
		used, err := familyTime(service)
		if errors.Is(err, os.ErrNotExist) {
			return times, nil
		}
		if err != nil {
			return cpuTimes{}, err
		}
		times.service += used
	}
	if m.redis != 0 {
		if times.redis, err = familyTime(m.redis); err != nil {
			return cpuTimes{}, err
		}
	}
	times.postgres, err = familyTime(m.postgres)
	return times, err
}

// familyTime adds a server's processes up, those that have ended included.
func familyTime(server int) (time.Duration, error) {
	main, err := readStat(server)
	if err != nil {
		return 0, err
	}
	total := main.used + main.ended
	family, err := familyOf(server)
	if err != nil {
		return 0, err
	}
	for _, pid := range family[1:] {
		// Processes end while the list is read.
		if child, err := readStat(pid); err == nil {
			total += child.used + child.ended
		}
	}
	return total, nil
}

// familyOf returns a process and all that descend from it.
func familyOf(server int) ([]int, error) {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	children := make(map[int][]int)
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		// Processes end while the list is read.
		if child, err := readStat(pid); err == nil {
			children[child.parent] = append(children[child.parent], pid)
		}
	}
	family := []int{server}
	for i := 0; i < len(family); i++ {
		family = append(family, children[family[i]]...)
	}
	return family, nil
}

type processStat struct {
	parent int
	used   time.Duration
	// ended is what its children had used when they ended.
	ended time.Duration
}

func readStat(pid int) (processStat, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, fmt.Errorf("read processor time: %w", err)
	}
	return parseStat(text)
}

func parseStat(text []byte) (processStat, error) {
	// The name before the last parenthesis may hold anything.
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < statFields {
		return processStat{}, fmt.Errorf("read processor time: %d fields", len(fields))
	}
	var numbers [statFields]int
	for _, place := range []int{statParent, statUser, statSystem, statEndedUse, statEndedSys} {
		number, err := strconv.Atoi(string(fields[place]))
		if err != nil {
			return processStat{}, fmt.Errorf("read processor time: %w", err)
		}
		numbers[place] = number
	}
	return processStat{
		parent: numbers[statParent],
		used:   time.Duration(numbers[statUser]+numbers[statSystem]) * tick,
		ended:  time.Duration(numbers[statEndedUse]+numbers[statEndedSys]) * tick,
	}, nil
}

func ownTime() (time.Duration, error) {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0, fmt.Errorf("read processor time: %w", err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()), nil
}
