package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestRedis(t *testing.T) {
	t.Parallel()

	t.Run("LetsKeysExpire", func(t *testing.T) {
		t.Parallel()
		_, client := startedRedis(t, nil)
		if err := client.Set(t.Context(), "brief", "x", time.Second).Err(); err != nil {
			t.Fatalf("set: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), endPatience)
		defer cancel()
		if !poll(ctx, func() bool { return errors.Is(client.Get(ctx, "brief").Err(), redis.Nil) }) {
			t.Error("key with a TTL of 1 s never expired")
		}
	})

	t.Run("TakesLongPipelines", func(t *testing.T) {
		t.Parallel()
		_, client := startedRedis(t, nil)
		long := strings.Repeat("x", 1<<10)
		answers, err := client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 64 {
				pipe.Echo(t.Context(), long)
			}
			return nil
		})
		if err != nil || len(answers) != 64 {
			t.Errorf("answers = %d, error = %v, want 64, nil", len(answers), err)
		}
	})

	t.Run("StopsTwice", func(t *testing.T) {
		t.Parallel()
		server, client := startedRedis(t, nil)
		server.Stop()
		if err := client.Ping(t.Context()).Err(); err == nil {
			t.Error("ping after Stop succeeded, want an error")
		}
		server.Stop()
	})
}

func TestRedisScripts(t *testing.T) {
	t.Parallel()

	t.Run("RunInGo", func(t *testing.T) {
		t.Parallel()
		_, client := startedRedis(t, map[string]Script{"sum": {Run: func(call Call, keys, args []string) (any, error) {
			return call("INCRBY", keys[0], args[0])
		}}})
		for _, want := range []int64{2, 4} {
			if got, err := client.EvalSha(t.Context(), "sum", []string{"n"}, 2).Int64(); err != nil || got != want {
				t.Errorf("reply = %d, error = %v, want %d", got, err, want)
			}
		}
	})

	t.Run("ReplyWithTheirErrors", func(t *testing.T) {
		t.Parallel()
		_, client := startedRedis(t, map[string]Script{"fail": {Run: func(call Call, _, _ []string) (any, error) {
			return call("HGET", "list")
		}}})
		err := client.EvalSha(t.Context(), "fail", nil).Err()
		if err == nil || !strings.Contains(err.Error(), "wrong number of arguments") {
			t.Errorf("error = %v, want that of the command", err)
		}
	})

	t.Run("AreInterpretedWhereTheySaySo", func(t *testing.T) {
		t.Parallel()
		script := redis.NewScript("return redis.call('INCR', KEYS[1])")
		leave := func(Call, []string, []string) (any, error) { return nil, ErrInterpret }
		_, client := startedRedis(t, map[string]Script{script.Hash(): {Run: leave}})
		if got, err := script.Run(t.Context(), client, []string{"n"}).Int(); err != nil || got != 1 {
			t.Errorf("reply = %d, error = %v, want 1", got, err)
		}
	})

	t.Run("AreAlone", func(t *testing.T) {
		t.Parallel()
		// Both read and then write. Were they not alone, one would overwrite what the other has added.
		lua := redis.NewScript("return redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]) + 1)")
		_, client := startedRedis(t, map[string]Script{"go": {Run: func(call Call, keys, _ []string) (any, error) {
			before, err := call("GET", keys[0])
			if err != nil {
				return nil, err
			}
			value, err := strconv.Atoi(fmt.Sprint(before))
			if err != nil {
				return nil, err
			}
			return call("SET", keys[0], strconv.Itoa(value+1))
		}}})
		client.Set(t.Context(), "n", 0, 0)
		const times = 200
		var clients sync.WaitGroup
		for range 4 {
			clients.Go(func() {
				for range times {
					if err := client.EvalSha(t.Context(), "go", []string{"n"}).Err(); err != nil {
						t.Errorf("script in Go: %v", err)
					}
					if err := lua.Run(t.Context(), client, []string{"n"}).Err(); err != nil {
						t.Errorf("script in Lua: %v", err)
					}
				}
			})
		}
		clients.Wait()
		if got, err := client.Get(t.Context(), "n").Int(); err != nil || got != 4*2*times {
			t.Errorf("n = %d, error = %v, want %d", got, err, 4*2*times)
		}
	})
}

func TestRedisScriptsWait(t *testing.T) {
	t.Parallel()
	push := redis.NewScript("return redis.call('LPUSH', KEYS[1], ARGV[1])")

	t.Run("UntilSomethingIsPushed", func(t *testing.T) {
		t.Parallel()
		running := make(chan struct{}, 2)
		_, client := startedRedis(t, map[string]Script{"pop": {Waits: true, Run: func(
			call Call, keys, _ []string,
		) (any, error) {
			running <- struct{}{}
			return call("RPOP", keys[0])
		}}})
		popped := make(chan error, 1)
		go func() {
			got, err := client.EvalSha(t.Context(), "pop", []string{"list"}).Text()
			if err == nil && got != "x" {
				err = errors.New("popped " + got)
			}
			popped <- err
		}()
		<-running
		if err := push.Run(t.Context(), client, []string{"list"}, "x").Err(); err != nil {
			t.Fatalf("push: %v", err)
		}
		if err := <-popped; err != nil {
			t.Errorf("pop: %v", err)
		}
	})

	t.Run("OnlyWhereNoOtherListIsToBePolled", func(t *testing.T) {
		t.Parallel()
		script := Script{Waits: true, Run: func(call Call, keys, _ []string) (any, error) {
			return call("RPOP", keys[0])
		}}
		server, client := startedRedis(t, map[string]Script{"pop": script})
		for _, value := range []string{"x", "y"} {
			if err := push.Run(t.Context(), client, []string{"full"}, value).Err(); err != nil {
				t.Fatalf("push: %v", err)
			}
		}
		if err := client.EvalSha(t.Context(), "pop", []string{"full"}).Err(); err != nil {
			t.Fatalf("pop: %v", err)
		}
		// One list has a value left, so a poll of the other must not wait.
		if server.native.allEmpty("other", 2, true) {
			t.Error("a poll of an empty list waits while another list is not known to be empty")
		}
		if err := client.EvalSha(t.Context(), "pop", []string{"full"}).Err(); err != nil {
			t.Fatalf("pop: %v", err)
		}
		if !server.native.allEmpty("full", 2, true) {
			t.Error("a poll of an empty list does not wait although all lists are known to be empty")
		}
	})
}

// startedRedis returns a server and a client that asks once.
func startedRedis(t *testing.T, scripts map[string]Script) (*Redis, *redis.Client) {
	t.Helper()
	server, err := StartRedis(t.Context(), scripts, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(server.Stop)
	client := redis.NewClient(&redis.Options{Dialer: server.Dial, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() }) // The server may be gone, and the test has seen what it wanted.
	return server, client
}
