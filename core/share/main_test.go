package share_test

import (
	"context"
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
)

// silent is a log of the Redis client that nobody reads: tests without Redis would fill the output with it.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	os.Exit(m.Run())
}
