package share

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/time/rate"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestSharedRate(t *testing.T) {
	t.Parallel()
	inProcess := func(tb testing.TB) string {
		tb.Helper()
		return "redis://" + miniredis.RunT(tb).Addr()
	}
	for name, start := range map[string]func(testing.TB) string{"RedisServer": coretest.Redis, "InProcess": inProcess} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := start(t)
			org, log := uuid.New(), &bytes.Buffer{}
			// Two processes count together.
			limits := []*SharedRate{
				NewSharedRate(connect(t, url), "runs", 10, time.Minute, newLog(log)),
				NewSharedRate(connect(t, url), "runs", 10, time.Minute, newLog(log)),
			}
			begun, n, wait := time.Now(), 0, time.Duration(0)
			for i := range 20 {
				allowance := limits[i%2].Allow(t.Context(), org)
				if allowance.Wait == 0 {
					n++
				}
				wait = max(wait, allowance.Wait)
				want := core.RatePolicy{Name: "runs", Quota: 10, Window: time.Minute}
				if policy := allowance.Policy; policy != want {
					t.Errorf("policy = %+v, want %+v", policy, want)
				}
			}
			// On a slow machine some come back meanwhile.
			if most := 10 + int(time.Since(begun)/(6*time.Second)); n < 10 || n > most {
				t.Errorf("allowed = %d of 20, want 10, and at most %d by now", n, most)
			}
			if wait <= 0 || wait > 6*time.Second {
				t.Errorf("retry after %s, want at most the 6 s that one use takes", wait)
			}
			if limits[0].Allow(t.Context(), uuid.New()).Wait > 0 {
				t.Error("another organization was refused")
			}
		})
	}
}

func TestSharedRateWithoutRedis(t *testing.T) {
	t.Parallel()
	tests := map[string]func(testing.TB) string{
		"Refusing": coretest.FreeAddress,
		// Connections are made by the kernel, and nobody ever answers.
		"Silent": func(tb testing.TB) string {
			tb.Helper()
			return listen(tb).Addr().String()
		},
	}
	for name, address := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &bytes.Buffer{}
			limit := NewSharedRate(connect(t, "redis://"+address(t)), "runs", 1, 20*time.Millisecond, newLog(log))
			limit.complaints = rate.NewLimiter(0, 1)
			for range 20 {
				if got := limit.Allow(t.Context(), uuid.Nil); got != (core.Allowance{}) {
					t.Errorf("allowance = %+v, want the use allowed and nothing said: it fails open", got)
				}
			}
			if got := strings.Count(log.String(), "\n"); got != 1 {
				t.Errorf("log lines = %d, want 1: %s", got, log)
			}
			if name == "Silent" && !strings.Contains(log.String(), context.DeadlineExceeded.Error()) {
				t.Errorf("log = %s, want that the wait ended at the limit's own timeout", log)
			}
		})
	}

	t.Run("OffAtZero", func(t *testing.T) {
		t.Parallel()
		limit := NewSharedRate(nil, "runs", 0, time.Minute, slog.New(slog.DiscardHandler))
		if limit.Allow(t.Context(), uuid.New()).Wait > 0 {
			t.Error("refused, want all allowed and Redis never asked")
		}
	})
}

func newLog(to *bytes.Buffer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

func listen(tb testing.TB) net.Listener {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	tb.Cleanup(func() { _ = listener.Close() }) // Some tests close it themselves.
	return listener
}

func connect(tb testing.TB, url string) *redis.Client {
	tb.Helper()
	opt, err := redis.ParseURL(url)
	if err != nil {
		tb.Fatalf("parse %s: %v", url, err)
	}
	opt.ContextTimeoutEnabled = true
	client := redis.NewClient(opt)
	tb.Cleanup(func() { _ = client.Close() }) // The server may be gone.
	return client
}
