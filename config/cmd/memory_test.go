package cmd_test

import (
	"errors"
	"math"
	"net/url"
	"testing"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/simplevalidations/simplevalidations/config/cmd"
	dbtest "github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestMemoryIsLeftToThePrivatePostgres(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	address, err := url.Parse(dbtest.DatabaseURL(t))
	if err != nil {
		t.Fatal(err)
	}
	query := address.Query()
	query.Set("work_mem", "6MB")
	query.Set("maintenance_work_mem", "100MB")
	address.RawQuery = query.Encode()
	database := dbtest.Connect(t, address.String())
	shared := dbtest.One[uint64](t, database, `SELECT pg_size_bytes(current_setting('shared_buffers'))`)
	const conns, rest = 10, (100 + 10*(6+8)) * mebibyte
	for name, tt := range map[string]struct {
		container uint64
		isPrivate bool
		want      uint64
	}{
		"APrivateOneIsPartOfTheContainer": {4096 * mebibyte, true, 4096*mebibyte - shared - rest},
		"AnotherOneIsNot":                 {4096 * mebibyte, false, 4096 * mebibyte},
		"HalfOfASmallContainerIsKept":     {256 * mebibyte, true, 128 * mebibyte},
	} {
		got, err := cmd.MemoryBesides(t.Context(), tt.container, database, conns, tt.isPrivate)
		if err != nil || got != tt.want {
			t.Errorf("%s: %d bytes of %d are left, %v, want %d", name, got, tt.container, err, tt.want)
		}
	}
}

// The first version of control groups has no limit as a number near 2^63.
func TestAHugeMemoryLimitIsNoLimit(t *testing.T) {
	t.Parallel()
	database := dbtest.Connect(t, dbtest.DatabaseURL(t))
	_, err := cmd.MemoryBesides(t.Context(), 1<<63-4096, database, 10, true)
	if !errors.Is(err, memlimit.ErrNoLimit) {
		t.Errorf("error = %v, want %v", err, memlimit.ErrNoLimit)
	}
}

func TestASmallContainerKeepsItsMemoryForItsHeap(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	for limit, want := range map[int64]int64{
		128 * mebibyte: 8 * mebibyte, 512 * mebibyte: 32 * mebibyte, 4096 * mebibyte: 64 * mebibyte,
		math.MaxInt64: 64 * mebibyte,
	} {
		if got := cmd.HeadroomWithin(limit); got != want {
			t.Errorf("headroom within %d bytes = %d, want %d", limit, got, want)
		}
	}
}
