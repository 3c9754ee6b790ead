package progress

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// synctest's clock only advances while every goroutine waits, so the test takes no time.
func TestAnIdleStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		silent := NewStreams(nil, NewWaiters(nil), nil, 0).newStream(echo.New().NewContext(request, answer))
		ctx := core.WithAccess(t.Context(), core.Access{Confirm: func(context.Context) error { return nil }})
		moved, err := silent.await(ctx, Watch{})
		if moved || err != nil {
			t.Errorf("await = %t, %v, want false and no error", moved, err)
		}
		got := strings.Count(answer.Body.String(), ": still here\n\n")
		if want := int(maxStreamAge / Heartbeat); got != want {
			t.Errorf("comments = %d, want %d", got, want)
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	org := uuid.New()
	holder := func(orgID uuid.UUID) streamHolder { return streamHolder{orgID, uuid.New()} }
	open, one := &openStreams{perOrg: streamsPerHolder + 1}, holder(org)
	enter := func(h streamHolder) bool {
		err := open.enter(h, "Too many.")
		if err != nil && !errors.Is(err, api.CodeRateLimited) {
			t.Fatalf("enter = %v, want %s", err, api.CodeRateLimited)
		}
		return err == nil
	}
	for i := range streamsPerHolder {
		if !enter(one) {
			t.Fatalf("stream %d was refused", i+1)
		}
	}
	if enter(one) {
		t.Errorf("stream %d of a token was allowed", streamsPerHolder+1)
	}
	other := holder(org)
	if !enter(other) {
		t.Error("another token was refused")
	}
	if enter(holder(org)) {
		t.Errorf("stream %d of an organization was allowed", streamsPerHolder+2)
	}
	if !enter(streamHolder{uuid.New(), one.id}) {
		t.Error("a token of another organization with the same id was refused")
	}
	open.leave(one)
	if !enter(one) {
		t.Error("a place that was given back was refused")
	}
}
