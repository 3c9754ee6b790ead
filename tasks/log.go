package tasks

import (
	"fmt"
	"log/slog"
)

// queueLog lets asynq write to slog.
type queueLog struct {
	log *slog.Logger
}

// Debug logs what is of use only while looking into asynq itself.
func (l queueLog) Debug(args ...any) { l.log.Debug("queue", "detail", fmt.Sprint(args...)) }

// Info logs what asynq does.
func (l queueLog) Info(args ...any) { l.log.Info("queue", "detail", fmt.Sprint(args...)) }

// Warn logs what asynq expects to mend itself.
func (l queueLog) Warn(args ...any) { l.log.Warn("queue", "detail", fmt.Sprint(args...)) }

// Error logs what asynq could not do.
func (l queueLog) Error(args ...any) { l.log.Error("queue", "detail", fmt.Sprint(args...)) }

// Fatal logs like Error. Ending the process is for main alone.
func (l queueLog) Fatal(args ...any) { l.log.Error("queue", "detail", fmt.Sprint(args...)) }
