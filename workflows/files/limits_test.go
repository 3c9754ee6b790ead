package files

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// byOrg is the context of a member of an organization.
func byOrg(tb testing.TB, org uuid.UUID) context.Context {
	tb.Helper()
	return core.WithPrincipal(tb.Context(), core.Principal{OrgID: org})
}

func TestCheckThatTakesTooLong(t *testing.T) {
	t.Parallel()
	endless := func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}
	c := ChecksOf(1, time.Second, time.Millisecond)
	if err := c.Run(byOrg(t, uuid.New()), endless); !errors.Is(err, api.CodeInvalidPayload) {
		t.Errorf("error = %v, want %s", err, api.CodeInvalidPayload)
	}
	// Whoever has gone is told nothing, and has not done anything wrong.
	ctx, cancel := context.WithCancel(byOrg(t, uuid.New()))
	cancel()
	if err := NewChecks().Run(ctx, endless); errors.Is(err, api.CodeInvalidPayload) {
		t.Errorf("error = %v, want that of the context", err)
	}
}
