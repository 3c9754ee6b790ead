package tasks

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"
)

// LogRedisClient sends what the Redis client says about its connections to log, at level debug: the code that uses a
// connection reports its failure. The setting is the process's, so main makes it, once; without it the client writes to
// standard error.
func LogRedisClient(log *slog.Logger) {
	redis.SetLogger(clientLog{log: log})
}

// clientLog lets the Redis client write to slog.
type clientLog struct {
	log *slog.Logger
}

// Printf logs one message.
func (l clientLog) Printf(ctx context.Context, format string, args ...any) {
	l.log.DebugContext(ctx, "redis client", "detail", fmt.Sprintf(format, args...))
}

// queueLog lets asynq write to slog.
type queueLog struct {
	log *slog.Logger
}

// Debug logs what is of use only while looking into asynq itself.
func (l queueLog) Debug(args ...any) { l.log.Debug("queue", "detail", fmt.Sprint(args...)) }

// Info logs what asynq does.
func (l queueLog) Info(args ...any) { l.log.Info("queue", "detail", fmt.Sprint(args...)) }

// Warn logs what asynq retries by itself.
func (l queueLog) Warn(args ...any) { l.log.Warn("queue", "detail", fmt.Sprint(args...)) }

// Error logs what asynq could not do.
func (l queueLog) Error(args ...any) { l.log.Error("queue", "detail", fmt.Sprint(args...)) }

// Fatal logs like Error. Ending the process is for main alone.
func (l queueLog) Fatal(args ...any) { l.log.Error("queue", "detail", fmt.Sprint(args...)) }
