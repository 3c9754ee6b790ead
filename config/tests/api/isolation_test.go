package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// The kinds of requests that are mixed. Each has to happen for the test to say anything.
const (
	kindStarted   = "started"
	kindReplayed  = "replayed"
	kindRead      = "read"
	kindListed    = "listed"
	kindRefused   = "refused"
	kindPanicked  = "panicked"
	kindAborted   = "aborted in its body"
	kindTimedOut  = "timed out at the client"
	kindAbandoned = "abandoned while starting"
	kindLate      = "answered after its client had gone"
)

// isolation sends requests that each carry a marker of their own wherever a client can put one.
type isolation struct {
	*stage
	marker   *regexp.Regexp
	requests atomic.Int64
	mu       sync.Mutex
	happened map[string]int
}

func TestResponsesNeverMix(t *testing.T) {
	t.Parallel()
	i := &isolation{stage: setup(t), marker: regexp.MustCompile(`mk-\d{7}`), happened: map[string]int{}}
	i.addRoutes()
	const atOnce = 16
	numbers := make(chan int)
	var clients sync.WaitGroup
	for range atOnce {
		clients.Go(func() {
			for n := range numbers {
				if err := i.visit(t.Context(), n); err != nil {
					t.Errorf("visit %d: %v", n, err)
				}
			}
		})
	}
	for n := 0; i.requests.Load() < isolationRequests && !t.Failed(); n++ {
		numbers <- n
	}
	close(numbers)
	clients.Wait()
	for _, kind := range []string{
		kindStarted, kindReplayed, kindRead, kindListed, kindRefused, kindPanicked, kindAborted, kindTimedOut,
		kindAbandoned, kindLate,
	} {
		if i.happened[kind] == 0 {
			t.Errorf("no request was %s", kind)
		}
	}
	t.Logf("%d requests: %v", i.requests.Load(), i.happened)
	i.wantRowsApart(t)
}

// addRoutes adds what the product has no route for: a panic, and an answer that comes when its client has gone.
func (i *isolation) addRoutes() {
	i.Router.POST("/test/panic/", func(c echo.Context) error {
		panic(c.QueryParam("marker"))
	})
	i.Router.POST("/test/late/", func(c echo.Context) error {
		// The server notices that a client has gone once the body is read.
		body, err := io.ReadAll(c.Request().Body)
		if err != nil {
			return err
		}
		<-c.Request().Context().Done()
		i.count(kindLate)
		c.Response().Header().Set("X-Marker", c.Request().Header.Get("X-Marker"))
		return c.String(http.StatusOK, string(body)+c.QueryParam("marker"))
	})
}

func (i *isolation) count(kind string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.happened[kind]++
}

// visit makes the requests of one kind under the marker of its number.
func (i *isolation) visit(ctx context.Context, n int) error {
	marker := fmt.Sprintf("mk-%07d", n)
	switch n % 7 {
	case 0, 1:
		return i.startAndRead(ctx, marker)
	case 2:
		return i.refuse(ctx, marker)
	case 3:
		_, err := i.ask(ctx, kindPanicked, marker, http.StatusInternalServerError,
			call{Method: http.MethodPost, Path: "/test/panic/?marker=" + marker, Body: marker})
		return err
	case 4:
		return i.abort(ctx, marker)
	case 5:
		return i.timeOut(ctx, marker)
	default:
		return i.abandon(ctx, marker)
	}
}

// startOf is a start with the marker in its key, headers, name and content.
func (i *isolation) startOf(marker string) call {
	return call{
		Method: http.MethodPost, Path: "/api/workflows/building/start/", Token: i.Harbour.Tokens.Executor,
		Header: http.Header{
			"Content-Type": {"application/json"}, "Idempotency-Key": {marker}, "User-Agent": {marker},
		},
		Body: `{"content":{"` + marker + `":"` + strings.Repeat(marker, 20) + `"},"filename":"` + marker + `.json"}`,
	}
}

func (i *isolation) startAndRead(ctx context.Context, marker string) error {
	first, err := i.ask(ctx, kindStarted, marker, http.StatusCreated, i.startOf(marker))
	if err != nil {
		return err
	}
	again, err := i.ask(ctx, kindReplayed, marker, http.StatusCreated, i.startOf(marker))
	if err != nil {
		return err
	}
	if !bytes.Equal(again.Body, first.Body) || again.Header.Get("Idempotent-Replayed") != "true" {
		return fmt.Errorf("replay = %s, want %s", again.Body, first.Body)
	}
	read := call{Path: first.Header.Get("Location"), Token: i.Harbour.Tokens.Viewer}
	if _, err := i.ask(ctx, kindRead, marker, http.StatusOK, read); err != nil {
		return err
	}
	list := call{Path: "/api/runs/?idempotency_key=" + marker, Token: i.Harbour.Tokens.Viewer}
	_, err = i.ask(ctx, kindListed, marker, http.StatusOK, list)
	return err
}

func (i *isolation) refuse(ctx context.Context, marker string) error {
	c := i.startOf(marker)
	c.Body = `{"content":"` + marker + `","` + marker + `":1}`
	got, err := i.ask(ctx, kindRefused, marker, http.StatusBadRequest, c)
	if err == nil && !strings.Contains(string(got.Body), `"/`+marker+`"`) {
		return fmt.Errorf("problem = %s, want one that points at %s", got.Body, marker)
	}
	return err
}

// ask makes a request that has to be answered with the status and to hold no marker but its own.
func (i *isolation) ask(ctx context.Context, kind, marker string, status int, c call) (answer, error) {
	i.requests.Add(1)
	got, err := i.Send(ctx, c.With(core.HeaderRequestID, marker).With("X-Marker", marker))
	if err != nil {
		return answer{}, err
	}
	if got.Status != status {
		return answer{}, fmt.Errorf("%s: status = %d, want %d; body %s", kind, got.Status, status, got.Body)
	}
	if id := got.Header.Get(core.HeaderRequestID); id != marker {
		return answer{}, fmt.Errorf("%s: Request-Id = %q, want %q", kind, id, marker)
	}
	text := fmt.Sprint(got.Header) + string(got.Body)
	for _, found := range i.marker.FindAllString(text, -1) {
		if found != marker {
			return answer{}, fmt.Errorf("%s: the answer to %s has %s: %s", kind, marker, found, text)
		}
	}
	i.count(kind)
	return got, nil
}

// abort goes away in the middle of a body.
func (i *isolation) abort(ctx context.Context, marker string) error {
	i.requests.Add(1)
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", i.Address)
	if err != nil {
		return err
	}
	body := i.startOf(marker).Body
	_,
		err = fmt.Fprintf(conn,
		"POST /api/workflows/building/start/ HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"+
			"Idempotency-Key: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		i.Harbour.Tokens.Executor, marker, len(body), body[:len(body)/2])
	i.count(kindAborted)
	return errors.Join(err, conn.Close())
}

// timeOut gives up on an answer that only comes when it has given up.
func (i *isolation) timeOut(ctx context.Context, marker string) error {
	i.requests.Add(1)
	ctx, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
	defer cancel()
	late := call{Method: http.MethodPost, Path: "/test/late/?marker=" + marker, Body: marker}
	got, err := i.Send(ctx, late.With("X-Marker", marker))
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("late answer = %s, %w, want a timeout", got.Body, err)
	}
	i.count(kindTimedOut)
	return nil
}

// abandon gives up on a start and sends it again until it is decided.
func (i *isolation) abandon(ctx context.Context, marker string) error {
	i.requests.Add(1)
	c := i.startOf(marker).With(core.HeaderRequestID, marker)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	_, err := i.Send(short, c)
	cancel()
	if err != nil {
		i.count(kindAbandoned)
	}
	for {
		i.requests.Add(1)
		got, err := i.Send(ctx, c)
		if err != nil {
			return err
		}
		if got.Status == http.StatusConflict {
			continue
		}
		_, err = i.ask(ctx, kindReplayed, marker, http.StatusCreated, i.startOf(marker))
		return err
	}
}

// wantRowsApart checks that what was stored of a request is of that request alone.
func (i *isolation) wantRowsApart(tb testing.TB) {
	tb.Helper()
	mixed := coretest.One[int64](tb, i.DB, `
		SELECT count(*) FROM idempotency_keys AS k
		JOIN validation_runs AS r ON r.org_id = k.org_id AND r.id = k.validation_run_id
		JOIN submissions AS s ON s.org_id = r.org_id AND s.id = r.submission_id
		JOIN audit_records AS a ON a.org_id = r.org_id AND a.target_id = r.id::text
		WHERE r.idempotency_key <> k.key OR r.request_id <> k.key OR k.request_id <> k.key OR a.request_id <> k.key
			OR k.user_agent <> k.key OR s.filename <> k.key || '.json'
			OR convert_from(s.content, 'UTF8') <> '{"' || k.key || '":"' || repeat(k.key, 20) || '"}'
			OR position(r.id::text IN convert_from(k.response_body, 'UTF8')) = 0
			OR position(k.key IN convert_from(k.response_body, 'UTF8')) = 0`)
	if mixed != 0 {
		tb.Errorf("rows that hold what is not theirs = %d, want 0", mixed)
	}
	counts := i.RowCounts(tb)
	want := fixture.RowCounts{
		Keys: counts.Runs, Submissions: counts.Runs, Runs: counts.Runs, Jobs: counts.Runs, Audits: counts.Runs,
		Used: counts.Runs,
	}
	i.wantRows(tb, want)
}
