package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/validations/execution"
)

// synctest's clock only advances while every goroutine waits, so the test takes no time.
func TestAnIdleStreamIsKeptAlive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		silent := &runStream{
			eventWriter: eventWriter{echo.New().NewContext(request, answer)},
			app:         &App{Deps: Deps{Waiters: execution.NewWaiters(nil)}},
			deadline:    time.Now().Add(maxStreamAge),
		}
		moved, err := silent.await(t.Context(), 0)
		if moved || err != nil {
			t.Errorf("await = %t, %v, want false and no error", moved, err)
		}
		got := strings.Count(answer.Body.String(), ": still here\n\n")
		if want := int(maxStreamAge / heartbeatInterval); got != want {
			t.Errorf("comments = %d, want %d", got, want)
		}
	})
}

func TestStreamsOfATokenAreBounded(t *testing.T) {
	t.Parallel()
	open, one, other := newStreams(), uuid.New(), uuid.New()
	for i := range streamsPerHolder {
		if !open.enter(one) {
			t.Fatalf("stream %d was refused", i+1)
		}
	}
	if open.enter(one) {
		t.Errorf("stream %d was allowed", streamsPerHolder+1)
	}
	if !open.enter(other) {
		t.Error("another token was refused")
	}
	open.leave(one)
	if !open.enter(one) {
		t.Error("a place that was given back was refused")
	}
}
