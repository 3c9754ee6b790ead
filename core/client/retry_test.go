package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

func TestRetriesHaveFullJitter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		var attempts []client.Attempt
		retries := client.DefaultRetries()
		retries.Attempts = 8
		c := made(t, serve(t, &script{answers: []http.HandlerFunc{bare(http.StatusBadGateway)}}),
			client.WithRetries(retries),
			client.WithOnAttempt(func(a client.Attempt) { attempts = append(attempts, a) }),
			client.WithOnRetry(func(_ client.Attempt, wait time.Duration) { waits = append(waits, wait) }))
		began := time.Now()
		_, err := c.Start(t.Context(), document())
		if unknown, ok := errors.AsType[*client.UnknownOutcomeError](err); !ok || unknown.Attempts != 8 {
			t.Fatalf("error = %v, want an unknown outcome after 8 attempts", err)
		}
		limit, sum := 250*time.Millisecond, time.Duration(0)
		for i, wait := range waits {
			if wait < 0 || wait > limit {
				t.Errorf("wait %d = %v, want at most %v", i+1, wait, limit)
			}
			limit = min(2*limit, 8*time.Second)
			sum += wait
		}
		if len(waits) != 7 || len(attempts) != 8 || time.Since(began) != sum {
			t.Errorf("waits = %v in %v with %d attempts, want 7 of %v in all",
				waits, time.Since(began), len(attempts), sum)
		}
		last := attempts[len(attempts)-1]
		if last.Number != 8 || last.Status != http.StatusBadGateway || last.Key == "" || last.Err == nil {
			t.Errorf("attempt = %+v, want the eighth with its status, key and error", last)
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()

	t.Run("WhereTheContextWillNotLast", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			service := &script{answers: []http.HandlerFunc{
				refuses(api.CodeUnavailable, http.StatusServiceUnavailable, true, "10"),
			}}
			began := time.Now()
			_, err := made(t, serve(t, service)).Start(ctx, document())
			if !errors.Is(err, api.CodeUnavailable) || time.Since(began) != 0 {
				t.Errorf("error = %v after %v, want the refusal at once", err, time.Since(began))
			}
		})
	})

	t.Run("WithTheContext", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			hang := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
			service := &script{answers: []http.HandlerFunc{hang}}
			_, err := made(t, serve(t, service)).Start(ctx, document())
			unknown, ok := errors.AsType[*client.UnknownOutcomeError](err)
			if !ok || !errors.Is(err, context.Canceled) || unknown.Key == "" || service.requests() != 1 {
				t.Errorf("error = %v, want an unknown outcome because of the context, after one request", err)
			}
		})
	})
}

// TestUnknownOutcomeWithoutAKeyIsNotRepeated lets a service ask for a repetition that would make another token.
func TestUnknownOutcomeWithoutAKeyIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{answers: []http.HandlerFunc{
			refuses(api.CodeOutcomeUnknown, http.StatusServiceUnavailable, true, ""),
		}}
		_, err := made(t, serve(t, service)).CreateToken(t.Context(), api.TokenDraft{})
		unknown, ok := errors.AsType[*client.UnknownOutcomeError](err)
		if n := service.requests(); !ok || unknown.Key != "" || n != 1 {
			t.Errorf("error = %v after %d requests, want that the outcome of one is unknown", err, n)
		}
	})
}

func TestDocumentsThatCannotBeReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{answers: []http.HandlerFunc{lost, created}}
		sender := serve(t, service)
		start := document()
		start.Content = io.LimitReader(start.Content, 1000)
		_, err := made(t, sender).Start(t.Context(), start)
		if err == nil || !strings.Contains(err.Error(), "io.ReadSeeker") || service.requests() != 0 {
			t.Errorf("error = %v, want what to give instead, before anything is sent", err)
		}
		opened := 0
		start.GetContent = func() (io.ReadCloser, error) {
			opened++
			return io.NopCloser(strings.NewReader("a,b\n")), nil
		}
		if _, err := made(t, sender).Start(t.Context(), start); err != nil || opened != 2 {
			t.Errorf("error = %v after opening %d times, want none after 2", err, opened)
		}
		start.GetContent = func() (io.ReadCloser, error) { return nil, io.ErrUnexpectedEOF }
		if _, err := made(t, sender).Start(t.Context(), start); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("error = %v, want that of the document", err)
		}
	})
}

func TestHooksSeeNoSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
			if agent := r.UserAgent(); !strings.HasPrefix(agent, "myapp/2 simplevalidations-go/") {
				t.Errorf("User-Agent = %q, want the program in front of the client", agent)
			}
			if got := r.Header.Get("Authorization"); got != "Bearer sv_secret" {
				t.Errorf("Authorization = %q, want the token", got)
			}
			refuses(api.CodeUnavailable, http.StatusServiceUnavailable, true, "")(w, r)
		}}}
		c := made(t, serve(t, service), client.WithUserAgent("myapp/2"), client.WithKeyFunc(func() (string, error) {
			return "from-func", nil
		}))
		_, err := c.Start(t.Context(), document())
		if client.KeyOf(err) != "from-func" || strings.Contains(err.Error(), "sv_secret") {
			t.Errorf("error = %v, want the key of the function and no secret", err)
		}
	})
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"", "validations.example", "ftp://x", "http://", "http://u:p@x", "http://x/?a=b"} {
		if _, err := client.New(address); err == nil {
			t.Errorf("New(%q) has no error, want one", address)
		}
	}
	const likeThis = "must be like https://validations.example"
	if _, err := client.New("127.0.0.1:8000"); err == nil || !strings.Contains(err.Error(), likeThis) {
		t.Errorf("error = %v, want %q in it", err, likeThis)
	}
}
