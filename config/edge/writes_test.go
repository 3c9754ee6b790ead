package edge

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// deadlineLog is a connection that notes what is done to it, in order.
type deadlineLog struct {
	http.ResponseWriter

	events []string
}

func (l *deadlineLog) SetWriteDeadline(deadline time.Time) error {
	l.events = append(l.events, "deadline in "+time.Until(deadline).Round(time.Hour).String())
	return nil
}

func (l *deadlineLog) Write(p []byte) (int, error) {
	l.events = append(l.events, fmt.Sprintf("write %d", len(p)))
	return len(p), nil
}

func (l *deadlineLog) FlushError() error {
	l.events = append(l.events, "flush")
	return nil
}

func TestWriteDeadline(t *testing.T) {
	t.Parallel()
	const ours, theirs = "deadline in 2h0m0s", "deadline in 1h0m0s"
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		want    []string
	}{
		"MovesOnWithEveryPiece": {
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(strings.Repeat("x", 2*writePiece+1)))
				_ = http.NewResponseController(w).Flush()
			},
			[]string{ours, ours, "write 16384", ours, "write 16384", ours, "write 1", ours, "flush", ours},
		},
		"IsSetBeforeTheServerWritesForTheHandler": {
			func(http.ResponseWriter, *http.Request) {},
			[]string{ours, ours},
		},
		"OfAStreamIsItsOwn": {
			func(w http.ResponseWriter, _ *http.Request) {
				control := http.NewResponseController(w)
				_ = control.SetWriteDeadline(time.Now().Add(time.Hour))
				_, _ = w.Write([]byte("event"))
				_ = control.Flush()
			},
			[]string{ours, theirs, "write 5", "flush", ours},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := &deadlineLog{ResponseWriter: httptest.NewRecorder()}
			request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
			rollWriteDeadline(2*time.Hour, tt.handler).ServeHTTP(log, request)
			if diff := cmp.Diff(tt.want, log.events); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}
