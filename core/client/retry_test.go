package client_test

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

func TestStartRetries(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]http.HandlerFunc{
		"LostAnswer":         lost,
		"InProgress":         refuses(api.CodeKeyInProgress, http.StatusConflict, true, "1"),
		"RateLimited":        refuses(api.CodeRateLimited, http.StatusTooManyRequests, true, "3"),
		"Unavailable":        refuses(api.CodeUnavailable, http.StatusServiceUnavailable, true, "1"),
		"OutcomeUnknown":     refuses(api.CodeOutcomeUnknown, http.StatusServiceUnavailable, true, ""),
		"BadGateway":         bare(http.StatusBadGateway),
		"ProxyUnavailable":   bare(http.StatusServiceUnavailable),
		"GatewayTimeout":     bare(http.StatusGatewayTimeout),
		"TimeOfTheAttempt":   func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"AnswerBreaksOff":    breaksOff,
		"SlowlySentDocument": refuses("request_timeout", http.StatusRequestTimeout, true, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &script{answers: []http.HandlerFunc{first, first, created}}
				started, err := made(t, serve(t, service)).Start(t.Context(), document())
				if err != nil {
					t.Fatal(err)
				}
				if started.Run.ID != runID || started.Attempts != 3 || started.Key == "" {
					t.Errorf("started = %+v, want the run after 3 attempts with a key", started)
				}
				for i, got := range service.requests() {
					if got.key != started.Key || got.digest != service.requests()[0].digest {
						t.Errorf("attempt %d has another key or body than the first, want the same", i+1)
					}
				}
			})
		})
	}
}

func breaksOff(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1000")
	created(w, r)
}

func TestStartDoesNotRetry(t *testing.T) {
	t.Parallel()
	const farAway = "Fri, 31 Dec 2100 00:00:00 GMT"
	for name, tt := range map[string]struct {
		code       api.Code
		status     int
		retryable  bool
		retryAfter string
	}{
		"InvalidPayload":     {api.CodeInvalidPayload, http.StatusBadRequest, false, ""},
		"NotAuthenticated":   {api.CodeNotAuthenticated, http.StatusUnauthorized, false, ""},
		"PaymentRequired":    {api.CodePaymentRequired, http.StatusPaymentRequired, false, ""},
		"PermissionDenied":   {api.CodePermissionDenied, http.StatusForbidden, false, ""},
		"NotFound":           {api.CodeNotFound, http.StatusNotFound, false, ""},
		"OtherConflict":      {"", http.StatusConflict, false, ""},
		"TooLarge":           {api.CodePayloadTooLarge, http.StatusRequestEntityTooLarge, false, ""},
		"KeyReused":          {api.CodeKeyReused, http.StatusUnprocessableEntity, true, ""},
		"Quota":              {api.CodeQuotaExceeded, http.StatusTooManyRequests, false, "1"},
		"BareTooMany":        {"", http.StatusTooManyRequests, false, ""},
		"RetryAfterTooLong":  {api.CodeRateLimited, http.StatusTooManyRequests, true, "61"},
		"RetryAfterDateLong": {api.CodeUnavailable, http.StatusServiceUnavailable, true, farAway},
		"RetryAfterBeyond":   {api.CodeRateLimited, http.StatusTooManyRequests, true, "10000000000"},
		"Redirect":           {"", http.StatusTemporaryRedirect, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answer := refuses(tt.code, tt.status, tt.retryable, tt.retryAfter)
				service := &script{answers: []http.HandlerFunc{answer}}
				began := time.Now()
				start := document()
				start.Key = "order-1"
				_, err := made(t, serve(t, service)).Start(t.Context(), start)
				refused, ok := errors.AsType[*client.Error](err)
				if !ok || refused.Status != tt.status || refused.Key != "order-1" || refused.Attempts != 1 {
					t.Fatalf("error = %#v, want a refusal with status %d and key order-1", err, tt.status)
				}
				if tt.code != "" && !errors.Is(err, tt.code) || errors.Is(err, api.CodeKeyInProgress) {
					t.Errorf("error = %v, want it to be %s alone", err, tt.code)
				}
				if n := len(service.requests()); n != 1 || time.Since(began) != 0 {
					t.Errorf("requests = %d in %v, want 1 at once", n, time.Since(began))
				}
			})
		})
	}
}

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

func TestRetriesObeyRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var waits []time.Duration
		service := &script{answers: []http.HandlerFunc{
			refuses(api.CodeRateLimited, http.StatusTooManyRequests, true, "60"), created,
		}}
		c := made(t, serve(t, service),
			client.WithOnRetry(func(_ client.Attempt, wait time.Duration) { waits = append(waits, wait) }))
		if _, err := c.Start(t.Context(), document()); err != nil {
			t.Fatal(err)
		}
		if len(waits) != 1 || waits[0] < time.Minute || waits[0] > time.Minute+250*time.Millisecond {
			t.Errorf("waits = %v, want one of a minute and a little", waits)
		}
	})
}

func TestRetriesEnd(t *testing.T) {
	t.Parallel()

	t.Run("WithTheBudget", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			retries := client.DefaultRetries()
			retries.Attempts, retries.Budget = 1000, 30*time.Second
			service := &script{answers: []http.HandlerFunc{
				refuses(api.CodeKeyInProgress, http.StatusConflict, true, "10"),
			}}
			began := time.Now()
			_, err := made(t, serve(t, service), client.WithRetries(retries)).Start(t.Context(), document())
			if !errors.Is(err, api.CodeKeyInProgress) || time.Since(began) > retries.Budget {
				t.Errorf("error = %v after %v, want in progress within %v", err, time.Since(began), retries.Budget)
			}
		})
	})

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
			if !ok || !errors.Is(err, context.Canceled) || unknown.Key == "" || len(service.requests()) != 1 {
				t.Errorf("error = %v, want an unknown outcome because of the context, after one request", err)
			}
		})
	})

	t.Run("WithoutAnybodyThere", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			_, err := made(t, refusesAll()).Start(t.Context(), document())
			unreachable, ok := errors.AsType[*client.UnreachableError](err)
			if !ok || unreachable.Attempts != 4 || client.KeyOf(err) == "" {
				t.Errorf("error = %v, want that nobody was reached in 4 attempts, with the key", err)
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
		if n := len(service.requests()); !ok || unknown.Key != "" || n != 1 {
			t.Errorf("error = %v after %d requests, want that the outcome of one is unknown", err, n)
		}
	})
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		last    http.HandlerFunc
		unknown bool
		code    api.Code
	}{
		// A refusal that comes before the key is looked up tells nothing of the attempt that was lost.
		"IsUnknownAfterALostAnswerAndABadToken": {
			refuses(api.CodeNotAuthenticated, http.StatusUnauthorized, false, ""), true, api.CodeNotAuthenticated,
		},
		"IsKnownAfterALostAnswerAndAFullQuota": {
			refuses(api.CodeQuotaExceeded, http.StatusTooManyRequests, false, ""), false, api.CodeQuotaExceeded,
		},
		"IsUnknownWhenTheServiceSaysSo": {
			refuses(api.CodeOutcomeUnknown, http.StatusServiceUnavailable, true, ""), true, api.CodeOutcomeUnknown,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				service := &script{answers: []http.HandlerFunc{lost, tt.last}}
				_, err := made(t, serve(t, service)).Start(t.Context(), document())
				unknown, ok := errors.AsType[*client.UnknownOutcomeError](err)
				if ok != tt.unknown || !errors.Is(err, tt.code) {
					t.Fatalf("error = %v, want %s and unknown %t", err, tt.code, tt.unknown)
				}
				if ok && !strings.Contains(err.Error(), "retry with key "+unknown.Key) {
					t.Errorf("error = %v, want that it names the key", err)
				}
			})
		})
	}
}

func TestCertificatesThatAreNotTrustedAreFinal(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	server.Config.ErrorLog = nil
	attempts := 0
	c, err := client.New(server.URL, client.WithHTTPClient(&http.Client{Transport: &http.Transport{}}),
		client.WithOnAttempt(func(client.Attempt) { attempts++ }))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Start(t.Context(), document())
	_, untrusted := errors.AsType[x509.UnknownAuthorityError](err)
	if _, ok := errors.AsType[*client.UnreachableError](err); !ok || !untrusted || attempts != 1 {
		t.Errorf("error = %v after %d attempts, want an unknown authority after 1", err, attempts)
	}
}

func TestDocumentsThatCannotBeReadAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		service := &script{answers: []http.HandlerFunc{lost, created}}
		sender := serve(t, service)
		start := document()
		start.Content = io.LimitReader(start.Content, 1000)
		_, err := made(t, sender).Start(t.Context(), start)
		if err == nil || !strings.Contains(err.Error(), "io.ReadSeeker") || len(service.requests()) != 0 {
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
