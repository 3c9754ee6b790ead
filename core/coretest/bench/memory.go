package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	memoryClients = 32
	largeBytes    = 10 << 20
	kibibyte      = 1 << 10
	// The process has warmed up after a fifth of the time, and is judged by the last one.
	memoryParts = 5
)

// measureMemory watches the service under a steady load, and fresh ones that get a large document.
func (c *course) measureMemory(ctx context.Context) ([]goal, error) {
	flat := goal{
		what: fmt.Sprintf("memory at the end of %s of 1,000 starts a second, to that after a fifth",
			c.options.scale.load),
		bound: atMost(1.1, unitTimes),
	}
	sizes, err := c.memoryUnderLoad(ctx)
	if err != nil {
		return nil, err
	}
	if part := len(sizes) / memoryParts; part > 0 {
		early, late := slices.Max(sizes[part:2*part]), slices.Max(sizes[len(sizes)-part:])
		flat.values = []float64{late / early}
		flat.note = fmt.Sprintf("%.0f MiB, %.0f MiB early", late/largeUnit, early/largeUnit)
	}
	large := goal{what: "memory that a document of 10 MiB takes, to its size", bound: atMost(3, unitTimes)}
	for range c.options.scale.rounds {
		above, err := c.memoryOfDocument(ctx)
		if err != nil {
			return nil, err
		}
		large.values = append(large.values, above/largeBytes)
		large.note = fmt.Sprintf("%.1f MiB", above/largeUnit)
	}
	return []goal{flat, large}, nil
}

const largeUnit = 1 << 20

// memoryUnderLoad reads the resident memory every second.
func (c *course) memoryUnderLoad(ctx context.Context) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.scale.load)
	defer cancel()
	var sizes []float64
	watched := make(chan error, 1)
	go func() {
		every := time.NewTicker(time.Second)
		defer every.Stop()
		for {
			select {
			case <-ctx.Done():
				watched <- nil
				return
			case <-every.C:
			}
			size, err := residentMemory(c.world.service.pid(), "VmRSS:")
			if err != nil {
				watched <- err
				return
			}
			sizes = append(sizes, size)
		}
	}()
	load, err := c.service().pace(ctx, purgePace, memoryClients)
	cancel()
	if err := errors.Join(err, <-watched); err != nil {
		return nil, err
	}
	if load.refused > 0 {
		return nil, fmt.Errorf("%d starts were refused", load.refused)
	}
	return sizes, nil
}

// memoryOfDocument is the most that a fresh service held while the document arrived, above what it held after a small
// one.
func (c *course) memoryOfDocument(ctx context.Context) (float64, error) {
	server, address, err := c.world.serve(ctx, "web")
	if err != nil {
		return 0, err
	}
	post := func(size int, key string) (float64, error) {
		t := c.world.tenants[0]
		t.tail = tail(strings.Repeat("MTR-0001,2026-03-01T00:00:00Z,1.5,A,day\n", size/40+1)[:size])
		client, err := dial(ctx, address)
		if err != nil {
			return 0, err
		}
		defer client.close()
		if _, err := t.start(client, key+strconv.FormatInt(time.Now().UnixNano(), 10)); err != nil {
			return 0, err
		}
		return residentMemory(server.pid(), "VmHWM:")
	}
	idle, err := post(kibibyte, "small-")
	if err != nil {
		return 0, errors.Join(err, server.stop())
	}
	most, err := post(largeBytes, "large-")
	return most - idle, errors.Join(err, server.stop())
}

// residentMemory reads a line of what the kernel says about a process, in bytes.
func residentMemory(pid int, name string) (float64, error) {
	return memoryLine(fmt.Sprintf("/proc/%d/status", pid), name)
}

// familyMemory adds up what a process and all that descend from it hold in memory. What several of them share is
// counted once.
func familyMemory(server int) (float64, error) {
	family, err := familyOf(server)
	if err != nil {
		return 0, err
	}
	var total float64
	for _, pid := range family {
		size, err := memoryLine(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:")
		if err != nil && pid == server {
			return 0, err
		}
		total += size // A process that has ended while the list was read holds nothing.
	}
	return total, nil
}

func memoryLine(file, name string) (float64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, fmt.Errorf("read memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if text, found := strings.CutPrefix(line, name); found {
			size, err := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "kB")))
			return float64(size) * kibibyte, err
		}
	}
	return 0, fmt.Errorf("the kernel does not tell %s", name)
}
