package api

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// logged reads a list of the log by harbour's owner, after what was sent before was written.
func (s *stage) logged(tb testing.TB, query string) []api.LoggedRequest {
	tb.Helper()
	s.FlushRequests(tb)
	list := call{Path: "/api/requests/?" + query, Token: s.Harbour.Tokens.Owner}
	return fixture.Decoded[api.Page[api.LoggedRequest]](tb, s.Must(tb, http.StatusOK, list)).Results
}

func (s *stage) loggedDetail(tb testing.TB, id string) api.LoggedRequestDetail {
	tb.Helper()
	one := call{Path: "/api/requests/" + id + "/", Token: s.Harbour.Tokens.Owner}
	return fixture.Decoded[api.LoggedRequestDetail](tb, s.Must(tb, http.StatusOK, one))
}

// Each way to refuse a start leaves a line, in the order of the requests.
func TestRequestLogHasEveryStart(t *testing.T) {
	t.Parallel()
	s := setup(t)
	revoked, revokedID := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleExecutor)
	s.Exec(t, `UPDATE api_tokens SET revoked_at = now() WHERE id = $1`, revokedID)
	start := s.Start(t, "logged")
	run := s.Started(t, start)
	flushed := time.Now()
	firstID := api.Optional(s.logged(t, "")[0].RequestID)
	late := time.Since(flushed)
	changed := start
	changed.Body += "\n"
	for _, c := range []call{
		start, // Replayed.
		changed,
		start.By(revoked),
		start.By(s.Harbour.Tokens.Viewer),
		start.To("/api/workflows/none/start/"),
		s.Start(t, "typed").WithBody("application/pdf", "?"),
		s.Start(t, strings.Repeat("k", 300)),
		{Method: http.MethodPost, Path: "/api/runs/" + run.ID + "/cancel/", Token: start.Token},
	} {
		s.Do(t, c)
	}
	type line struct {
		Status      int
		Code, Key   api.Optional
		Replay      bool
		Original    api.Optional
		Endpoint    api.Optional
		Run, Revoke bool
	}
	var lines []line
	requests := s.logged(t, "")
	slices.Reverse(requests)
	for i, r := range requests {
		lines = append(lines, line{
			Status: r.Status, Code: r.Code, Key: r.Key, Replay: r.Replayed, Original: r.OriginalRequestID,
			Endpoint: r.Endpoint, Run: string(r.Run) == run.ID, Revoke: string(r.Token) == revokedID.String(),
		})
		if i > 0 && r.At.Before(requests[i-1].At.Time) {
			t.Errorf("request %d is of %v, before %v", i, r.At, requests[i-1].At)
		}
		if r.Address != "127.0.0.1" || r.RequestID == "" || r.DurationMS <= 0 {
			t.Errorf("request %d = %+v, want an address, an id and a duration", i, r)
		}
	}
	const starts = "workflow_start"
	want := []line{
		{Status: 201, Key: "logged", Endpoint: starts, Run: true},
		{Status: 201, Key: "logged", Replay: true, Original: firstID, Endpoint: starts, Run: true},
		{Status: 422, Code: "idempotency_key_reused", Key: "logged", Original: firstID, Endpoint: starts},
		{Status: 401, Code: "not_authenticated", Key: "logged", Endpoint: starts, Revoke: true},
		{Status: 403, Code: "permission_denied", Key: "logged", Endpoint: starts},
		{Status: 404, Code: "not_found", Key: "logged", Endpoint: starts},
		{Status: 415, Code: "unsupported_media_type", Key: "typed", Endpoint: starts},
		{Status: 400, Code: "idempotency_key_too_long", Endpoint: starts},
		{Status: 200, Run: true},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	// A flush reads the database's clock, to half of a round trip.
	began := requests[0].At.Add(-late)
	if created := s.Entry(t, "logged").CreatedAt; began.After(created.Time) {
		t.Errorf("the start is of %v, after its key of %s", began, created)
	}
}

// What a detail shows, and what it must not keep.
func TestRequestLogKeepsNoSecrets(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.Start(t, "secret").With("Cookie", "session=abc").With("X-Api-Key", "hunter2").
		With("Webhook-Signature", "v1,abc").With("User-Agent", "uploader "+s.Harbour.Tokens.Executor)
	start.Path += "?token=" + s.Harbour.Tokens.Executor
	s.Do(t, start)
	found := s.loggedDetail(t, s.logged(t, "")[0].ID)
	for _, header := range found.Headers {
		secret := slices.Contains([]string{
			"Authorization", "Cookie", "X-Api-Key", "Webhook-Signature", "User-Agent",
		}, header.Name)
		if header.Hidden != secret || secret && header.Value != "" {
			t.Errorf("header %+v, want it hidden: %v", header, secret)
		}
	}
	if found.Problem == nil || found.Problem.Code != api.CodeInvalidParameter ||
		found.Problem.RequestID != found.RequestID {
		t.Errorf("problem = %+v, want the one that was answered", found.Problem)
	}
	for _, table := range []string{"request_log", "refusal_days"} {
		for _, secret := range []string{s.Harbour.Tokens.Executor, "hunter2", "session=abc", "v1,abc"} {
			if n := coretest.One[int](t, s.DB, `SELECT count(*)::int FROM `+table+` AS r
				WHERE position($1 IN r::text) > 0`, secret); n != 0 {
				t.Errorf("%s has a secret", table)
			}
		}
	}
}

// What a client makes up is of any length, and is kept with each request.
func TestRequestLogKeepsNoLongMethods(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.Start(t, "long")
	start.Method = strings.Repeat("M", 100_000)
	if got := s.AnswerTo(t, start); got.Status != http.StatusMethodNotAllowed {
		t.Errorf("status = %d, want 405", got.Status)
	}
	s.FlushRequests(t)
	if n := coretest.One[int](t, s.DB, `SELECT max(length(method)) FROM request_log`); n != 32 {
		t.Errorf("length of the method = %d, want 32", n)
	}
}

func TestRequestLogDigestsBodies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	start := s.Start(t, "digested").WithBody("text/csv", "id\n1\n")
	s.Do(t, start)
	found := s.loggedDetail(t, s.logged(t, "")[0].ID)
	// printf 'id\n1\n' | sha256sum
	const want = "7cde7fb64fd82bd152710cf238e017b9ab46c0592483edc067ba4f6c75fac108"
	if found.BodySize != 5 || found.BodySHA256 != want {
		t.Errorf("body = %d bytes, %s", found.BodySize, found.BodySHA256)
	}
}

// Filters, each with an index of its own, and paging in both directions.
func TestRequestLogFilters(t *testing.T) {
	t.Parallel()
	s := setup(t)
	first := s.Started(t, s.Start(t, "one"))
	s.Started(t, s.Start(t, "two"))
	s.Do(t, s.Start(t, "two").By(s.Harbour.Tokens.Viewer))
	s.Do(t, s.Start(t, "one"))
	all := s.logged(t, "")
	tokens := []string{string(all[0].Token), string(all[1].Token)}
	for query, want := range map[string]int{
		"":                                   4,
		"key=one":                            2,
		"key=none":                           0,
		"status=4xx":                         1,
		"status=2xx":                         3,
		"status=5xx":                         0,
		"code=permission_denied":             1,
		"run=" + first.ID:                    2,
		"token=" + tokens[0]:                 3,
		"token=" + tokens[1]:                 1,
		"key=two&status=4xx":                 1,
		"key=two&code=permission_denied":     1,
		"key=one&run=" + first.ID:            2,
		"code=permission_denied&key=one":     0,
		"token=" + tokens[1] + "&status=4xx": 1,
		"run=" + first.ID + "&token=" + tokens[0] + "&status=2xx": 2,
		"since=2000-01-01T00:00:00Z":                              4,
		"until=2000-01-01T00:00:00Z":                              0,
		"key=one&since=2000-01-01T00:00:00Z":                      2,
		"key=one&until=2000-01-01T00:00:00Z":                      0,
	} {
		if got := s.logged(t, query); len(got) != want {
			t.Errorf("%s finds %d, want %d", query, len(got), want)
		}
	}
	for _, query := range []string{"", "status=2xx"} {
		list := call{Path: "/api/requests/?page_size=1&" + query, Token: s.Harbour.Tokens.Owner}
		if pages := thereAndBack[api.LoggedRequest](t, s, list, 1); len(pages) < 3 {
			t.Errorf("%q has %d pages, want 3 at least", query, len(pages))
		}
	}
	for _, query := range []string{"status=6xx", "token=x", "run=x", "since=yesterday", "cursor=x"} {
		refused := call{Path: "/api/requests/?" + query, Token: s.Harbour.Tokens.Owner}
		s.Refused(t, api.CodeInvalidParameter, refused)
	}
}

// Nobody sees requests of another organization, and who may not administer sees only starts.
func TestRequestLogIsPrivate(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Started(t, s.Start(t, "ours"))
	s.Do(t, call{Method: http.MethodPost, Path: "/api/tokens/", Token: s.Harbour.Tokens.Owner})
	all := s.logged(t, "")
	if len(all) != 2 {
		t.Fatalf("the owner sees %d requests, want 2", len(all))
	}
	seen := read[api.Page[api.LoggedRequest]](t, s, "/api/requests/")
	if len(seen.Results) != 1 || seen.Results[0].Key != "ours" {
		t.Errorf("the viewer sees %+v, want the start alone", seen.Results)
	}
	for token, ids := range map[string][]string{
		s.Tiny.Tokens.Owner: {all[0].ID, all[1].ID}, s.Harbour.Tokens.Viewer: {all[0].ID},
	} {
		for _, id := range ids {
			s.Refused(t, api.CodeNotFound, call{Path: "/api/requests/" + id + "/", Token: token})
		}
	}
}

// The log has room for so many requests, and counts the refusals beyond it.
func TestRequestLogIsBounded(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.RequestLogRate = 8 })
	for range 20 {
		s.Do(t, s.Start(t, "").By(s.Harbour.Tokens.Viewer))
	}
	s.Do(t, s.Start(t, "").By(s.Tiny.Tokens.Viewer))
	if n := len(s.logged(t, "")); n != 6 {
		t.Errorf("logged requests of one organization = %d, want 6 of 8", n)
	}
	counted := coretest.One[int](t, s.DB, `SELECT starts::int FROM refusal_days WHERE org_id = $1`, s.Harbour.ID)
	if counted != 20 {
		t.Errorf("counted refusals = %d, want 20", counted)
	}
	if n := coretest.One[int](t, s.DB, `SELECT count(*)::int FROM request_log WHERE org_id = $1`, s.Tiny.ID); n != 1 {
		t.Errorf("logged requests of the other organization = %d, want 1", n)
	}
}

// Requests that could not be written are written by the next flush.
func TestRequestLogOutlivesTheDatabase(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Do(t, s.Start(t, "kept").By(s.Harbour.Tokens.Viewer))
	s.Exec(t, `ALTER TABLE request_log RENAME TO elsewhere`)
	if _, err := s.Requests.Flush(t.Context()); err == nil {
		t.Fatal("flush without a table: no error")
	}
	s.Exec(t, `ALTER TABLE elsewhere RENAME TO request_log`)
	if got := s.logged(t, "key=kept"); len(got) != 1 {
		t.Errorf("logged = %d, want the request that was kept", len(got))
	}
	if n := coretest.One[int](t, s.DB, `SELECT starts::int FROM refusal_days WHERE org_id = $1`, s.Harbour.ID); n != 1 {
		t.Errorf("counted refusals = %d, want 1", n)
	}
}
