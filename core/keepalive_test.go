package core_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestKeepAlive(t *testing.T) {
	t.Parallel()
	taken := errors.New("taken")

	t.Run("RenewsUntilStopped", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			beats := 0
			ctx, stop := core.KeepAlive(t.Context(), time.Second, taken, func(context.Context) bool {
				beats++
				return false
			})
			<-time.After(3500 * time.Millisecond)
			stop()
			<-time.After(time.Minute)
			if beats != 3 || !errors.Is(ctx.Err(), context.Canceled) || errors.Is(context.Cause(ctx), taken) {
				t.Errorf("%d beats, cause %v, want 3 and the end by stop", beats, context.Cause(ctx))
			}
		})
	})

	t.Run("EndsTheContextWhenItIsLost", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, stop := core.KeepAlive(t.Context(), time.Second, taken, func(context.Context) bool { return true })
			defer stop()
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), taken) {
				t.Errorf("cause = %v, want %v", context.Cause(ctx), taken)
			}
		})
	})
}
