package pages

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

// receiver answers webhooks with a status, and with a body that is no text of ours.
type receiver struct {
	*httptest.Server

	status atomic.Int64
}

func newReceiver(tb testing.TB, status int64) *receiver {
	tb.Helper()
	r := &receiver{}
	r.status.Store(status)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(int(r.status.Load()))
		_, _ = fmt.Fprint(w, hostile) // The service may have read enough.
	}))
	tb.Cleanup(r.Close)
	return r
}

// newWebhook is the form that adds a webhook for run.completed.
func newWebhook(session, address string) call {
	return harbourForm("webhooks/", session, url.Values{
		"url": {address}, "description": {hostile}, "event_types": {"run.completed"}, "workflow": {""},
		"signature": {"v1"},
	})
}

// added adds a webhook by the form, and returns the path of its page below those of harbour.
func (s *stage) added(tb testing.TB, session, address string) string {
	tb.Helper()
	fixture.Shows(tb, s.Visit(tb, http.StatusCreated, newWebhook(session, address)), `data-copy="whsec_`)
	return "webhooks/" + coretest.One[string](tb, s.DB, `SELECT id::text FROM webhooks WHERE url = $1`, address) + "/"
}

// tested sends a test event by the form, and returns the path of its page below those of harbour.
func (s *stage) tested(tb testing.TB, session, webhook string) string {
	tb.Helper()
	return s.redirected(tb, harbourForm(webhook+"test/", session, url.Values{"key": {idempotency.NewFormKey()}}))
}

// redirected sends a form, and returns the path of the page that it leads to below those of harbour.
func (s *stage) redirected(tb testing.TB, form call) string {
	tb.Helper()
	got := s.AnswerTo(tb, form)
	to, inside := strings.CutPrefix(got.Header.Get("Location"), fixture.HarbourPages)
	if got.Status != http.StatusSeeOther || !inside {
		tb.Fatalf("%s = %d to %q, want a redirect to a page of harbour: %s", form.Path, got.Status, to, got.Body)
	}
	return to
}

// TestWebhookIsMended is the story of a receiver that fails: a person sees why, mends it, and has sent again what it
// has missed.
func TestWebhookIsMended(t *testing.T) {
	t.Parallel()
	s := setup(t, fixture.ReachesReceivers)
	admin, receiver := s.Visitor(t, api.RoleAdmin), newReceiver(t, http.StatusInternalServerError)
	s.shows(t, harbour("webhooks/", admin), "No webhook yet", `href="/docs/guides/webhooks/"`)
	hook := s.added(t, admin, receiver.URL)
	s.hides(t, harbour(hook, admin), "whsec_", "<script>alert")
	s.hides(t, harbour("", admin), "failing webhook")

	run := s.Started(t, s.Start(t, "")).ID
	s.Work(t)
	s.Deliver(t)
	// A receiver that is down for a moment needs nobody.
	s.hides(t, harbour("", admin), "failing webhook")
	s.shows(t, harbour("webhooks/", admin), "retrying")
	s.Exec(t, `UPDATE webhooks SET failing_since = now() - interval '6 minutes'`)
	s.shows(t, harbour("", admin), "1 failing webhook", `href="`+fixture.HarbourPages+`webhooks/"`)
	s.hides(t, harbour("", s.Visitor(t, api.RoleAuthor)), "failing webhook")
	s.shows(t, harbour("webhooks/", admin), "1 of the webhooks fails", "failing", "0 % of 3 accepted",
		"0 accepted, 3 failed", "&lt;script&gt;")
	html := s.see(t, harbour(hook+"?state=failed", admin))
	fixture.Shows(t, html, "No attempt has succeeded", "It answered with status 500.", "3 attempts", "failed")
	s.shows(t, harbour(hook+"?state=delivered", admin), "No delivery is delivered")
	event := coretest.One[string](t, s.DB, `SELECT id::text FROM events`)
	page := hook + "deliveries/" + event + "/"
	fixture.Shows(t, html, `href="`+fixture.HarbourPages+page+`"`)
	html = s.see(t, harbour(page, admin))
	fixture.Shows(t, html, "It answered with status 500.", "&lt;script&gt;", pageOfRun(run), "&#34;run.completed&#34;")
	fixture.Hides(t, html, "<script>alert")
	s.shows(t, harbour("runs/"+run+"/", admin), "webhooks/?run="+run)
	s.shows(t, harbour("webhooks/?run="+run, admin), receiver.URL, `href="`+fixture.HarbourPages+page+`"`)

	receiver.status.Store(http.StatusOK)
	since := time.Now().UTC().Add(-time.Hour).Format("2006-01-02 15:04")
	again := harbourForm(hook+"resend/", admin, url.Values{"since": {since}, "key": {idempotency.NewFormKey()}})
	for range 2 {
		if to := s.redirected(t, again); to != hook+"#recover" {
			t.Errorf("the form leads to %q, want the webhook", to)
		}
	}
	if n := coretest.One[int](t, s.DB, `SELECT count(*) FROM audit_records WHERE action = 'webhook.resend'`); n != 1 {
		t.Errorf("a form that was sent twice has sent again %d times, want once", n)
	}
	s.shows(t, harbour(hook, admin), "sending again")
	if _, err := s.Publisher.RunOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.shows(t, harbour(hook, admin), "1 delivery waits for an attempt")
	s.Deliver(t)
	html = s.see(t, harbour(hook, admin))
	fixture.Shows(t, html, "delivered", "4 attempts", "1 accepted, 3 failed", "active")
	fixture.Hides(t, html, "sending again", "waits for an attempt", "No attempt has succeeded")
	s.hides(t, harbour("", admin), "failing webhook")
}

// TestDisabledWebhookRecovers enables a webhook whose receiver wanted no more events.
func TestDisabledWebhookRecovers(t *testing.T) {
	t.Parallel()
	s := setup(t, fixture.ReachesReceivers)
	admin, receiver := s.Visitor(t, api.RoleAdmin), newReceiver(t, http.StatusGone)
	hook := s.added(t, admin, receiver.URL)
	form := harbourForm(hook+"test/", admin, url.Values{"key": {idempotency.NewFormKey()}})
	tested := s.redirected(t, form)
	if twice := s.redirected(t, form); twice != tested {
		t.Errorf("sent twice, the form leads to %s and to %s, want one event", tested, twice)
	}
	s.shows(t, harbour(tested, admin), "is sent in a moment")
	s.Deliver(t)
	s.shows(t, harbour(tested, admin), "status 410", "webhook.test")
	s.shows(t, harbour(hook, admin), "status 410: it wants no more events.", "Enable</button>")
	s.shows(t, harbour("webhooks/", admin), "status 410: it wants no more events.")
	s.shows(t, harbour("", admin), "1 failing webhook")
	// What happens meanwhile is not sent, and known.
	run := s.Started(t, s.Start(t, "")).ID
	s.Work(t)
	s.Deliver(t)
	s.shows(t, harbour("webhooks/?run="+run, admin), "run.completed", receiver.URL)
	missed := hook + "deliveries/" + coretest.One[string](t, s.DB,
		`SELECT id::text FROM events WHERE type = 'run.completed'`) + "/"
	s.shows(t, harbour(missed, admin), "has not got this event")

	receiver.status.Store(http.StatusOK)
	proposed := regexp.MustCompile(`name="since" value="([^"]+)"`).FindStringSubmatch(s.see(t, harbour(hook, admin)))
	if proposed == nil {
		t.Fatal("the page proposes no time to send events again from")
	}
	since := proposed[1]
	to, err := url.Parse(s.redirected(t, harbourForm(hook+"enabled/", admin, url.Values{
		"enabled": {"true"}, "since": {since},
	})))
	if err != nil || to.Fragment != "recover" {
		t.Fatalf("enabling leads to %v (%v), want the form that sends again", to, err)
	}
	s.shows(t, harbour(to.String(), admin), `value="`+since+`"`)
	s.redirected(t, harbourForm(hook+"resend/", admin, url.Values{"since": {since}, "key": {idempotency.NewFormKey()}}))
	s.Deliver(t)
	s.shows(t, harbour(missed, admin), "delivered")
	s.hides(t, harbour("", admin), "failing webhook")

	s.redirected(t, harbourForm(hook+"enabled/", admin, url.Values{"enabled": {"false"}}))
	s.shows(t, harbour(hook, admin), "and gets no events", "Enable</button>")
	// What a person has disabled needs no attention, however it did before.
	s.Exec(t, `UPDATE webhooks SET failing_since = now()`)
	s.hides(t, harbour("", admin), "failing webhook")
}

func TestFormsOfWebhooksAreRefused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.Visitor(t, api.RoleAdmin)
	hook := s.added(t, admin, "https://hooks.example/first")
	s.added(t, admin, "https://hooks.example/second")
	settings := func(name, value string) call {
		fields := url.Values{"url": {"https://hooks.example/first"}, "description": {"kept as it was entered"}}
		fields.Set(name, value)
		return harbourForm(hook, admin, fields)
	}
	since := func(value string) call {
		return harbourForm(hook+"resend/", admin, url.Values{"since": {value}})
	}
	for name, tt := range map[string]struct {
		form  call
		shown []string
	}{
		"NoURL":           {settings("url", ""), []string{`href="#url"`, "kept as it was entered"}},
		"URLOfAnother":    {settings("url", "https://hooks.example/second"), []string{`href="#url"`, "second"}},
		"URLWithPassword": {settings("url", "https://me:secret@hooks.example/"), []string{`href="#url"`}},
		"UnknownType":     {settings("event_types", "run.exploded"), []string{"has a type that there is not"}},
		"LongDescription": {settings("description", strings.Repeat("x", 201)), []string{`href="#description"`}},
		"UnknownWorkflow": {
			settings("workflow", "01a7b0c9-97d4-7d18-9f4f-2f9f1b6d9d11"), []string{`href="#workflow"`},
		},
		"NewWithoutURL": {newWebhook(admin, ""), []string{`href="#url"`, "&lt;script&gt;"}},
		"NewAgain":      {newWebhook(admin, "https://hooks.example/first"), []string{`href="#url"`}},
		"HeaderOfOurs":  {settings("headers", "Webhook-Id: 1"), []string{"Webhook-Id", "is set by the service itself"}},
		"NoHeader":      {settings("headers", "a b"), []string{"is not the name of a header"}},
		"NoKey":         {harbourForm(hook+"test/", admin, nil), []string{"The form has no key."}},
		"NoTime":        {since(""), []string{"since must be given"}},
		"NotATime":      {since("yesterday"), []string{"must be a day or a time", `value="yesterday"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fixture.Shows(t, s.Visit(t, http.StatusBadRequest, tt.form), tt.shown...)
		})
	}
}

func TestSettingsOfAWebhook(t *testing.T) {
	t.Parallel()
	s := setup(t)
	admin := s.Visitor(t, api.RoleAdmin)
	hook := s.added(t, admin, "https://hooks.example/first")
	workflow := coretest.One[string](t, s.DB, `SELECT id::text FROM workflows WHERE slug = 'meter-readings'
		AND org_id = $1`, s.Harbour.ID)
	s.redirected(t, harbourForm(hook, admin, url.Values{
		"url": {"https://hooks.example/moved"}, "event_types": {"quota.reached", "run.canceled"},
		"workflow": {workflow},
	}))
	s.shows(t, harbour(hook, admin), "<h1>https://hooks.example/moved</h1>",
		`value="quota.reached" checked`, `value="run.canceled" checked`, `value="run.completed">`,
		`<option value="`+workflow+`" selected>`)
	s.redirected(t, harbourForm(hook, admin, url.Values{"url": {"https://hooks.example/moved"}}))
	html := s.see(t, harbour(hook, admin))
	fixture.Shows(t, html, "<dt>Events</dt><dd>all</dd>")
	fixture.Hides(t, html, " checked>")

	html = s.Visit(t, http.StatusCreated, harbourForm(hook+"rotate/", admin, nil))
	fixture.Shows(t, html, `data-copy="whsec_`, "For 24 hours, each event is signed with the former one")
	s.shows(t, harbour(hook, admin), "secret rotated")
	public := newWebhook(admin, "https://hooks.example/public")
	public.Body = strings.Replace(public.Body, "signature=v1", "signature=v1a", 1)
	fixture.Shows(t, s.Visit(t, http.StatusCreated, public), `data-copy="whpk_`, "The public key is shown only once")
	if to := s.redirected(t, harbourForm(hook+"delete/", admin, nil)); to != "webhooks/" {
		t.Errorf("deleting leads to %q, want the list", to)
	}
	s.Visit(t, http.StatusNotFound, harbour(hook, admin))
}

func TestHeadersOfAWebhook(t *testing.T) {
	t.Parallel()
	s := setup(t, fixture.ReachesReceivers)
	admin := s.Visitor(t, api.RoleAdmin)
	got := make(chan http.Header, 4)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	t.Cleanup(receiver.Close)
	form := newWebhook(admin, receiver.URL)
	form.Body += "&" + url.Values{"headers": {"Authorization: Bearer a:b\r\n\r\nX-Team:  billing "}}.Encode()
	s.Visit(t, http.StatusCreated, form)
	hook := "webhooks/" + coretest.One[string](t, s.DB, `SELECT id::text FROM webhooks`) + "/"
	for _, tt := range []struct {
		fields              url.Values
		shown, bearer, team string
	}{
		{nil, "<code>Authorization</code>, <code>X-Team</code>", "Bearer a:b", "billing"},
		{url.Values{"headers": {"X-Team: other"}}, "<code>X-Team</code>", "", "other"},
		{url.Values{"no_headers": {"true"}}, "none of its own", "", ""},
	} {
		fields := url.Values{"url": {receiver.URL}}
		maps.Copy(fields, tt.fields)
		s.redirected(t, harbourForm(hook, admin, fields))
		html := s.see(t, harbour(hook, admin))
		fixture.Shows(t, html, "<dt>Headers</dt><dd>", tt.shown)
		fixture.Hides(t, html, "Bearer a:b", "billing", "other")
		s.tested(t, admin, hook)
		s.Deliver(t)
		if header := <-got; header.Get("Authorization") != tt.bearer || header.Get("X-Team") != tt.team {
			t.Errorf("%v: the receiver got %v, want %q and %q", tt.fields, header, tt.bearer, tt.team)
		}
	}
}

// accessToWebhookPages are the pages and forms of webhooks.
func (s *stage) accessToWebhookPages(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	owner := s.Visitor(tb, api.RoleOwner)
	hook := s.added(tb, owner, "https://hooks.example/access")
	gone := s.added(tb, owner, "https://hooks.example/gone")
	event := s.tested(tb, owner, hook)
	if _, err := s.Publisher.RunOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	const shown, leads = http.StatusCreated, http.StatusSeeOther
	form := func(path string, ok int, fields url.Values) fixture.Access {
		return orgForm(path, fields, api.RoleAdmin, ok)
	}
	keyed := url.Values{"key": {fixture.FormKey}}
	again := url.Values{
		"event": {strings.TrimSuffix(strings.TrimPrefix(event, hook+"deliveries/"), "/")}, "key": {fixture.FormKey},
	}
	const route = "/app/orgs/:org/webhooks/"
	return map[string]fixture.Access{
		"GET " + route:                            orgPage("webhooks/", api.RoleAdmin),
		"GET " + route + ":id/":                   orgPage(hook, api.RoleAdmin),
		"GET " + route + ":id/deliveries/:event/": orgPage(event, api.RoleAdmin),

		"POST " + route:                  form("webhooks/", shown, url.Values{"url": {"https://hooks.example/ROLE"}}),
		"POST " + route + ":id/":         form(hook, leads, url.Values{"url": {"https://hooks.example/access"}}),
		"POST " + route + ":id/enabled/": form(hook+"enabled/", leads, url.Values{"enabled": {"true"}}),
		"POST " + route + ":id/rotate/":  form(hook+"rotate/", shown, nil),
		"POST " + route + ":id/test/":    form(hook+"test/", leads, keyed),
		"POST " + route + ":id/resend/":  form(hook+"resend/", leads, again),
		"POST " + route + ":id/delete/":  form(gone+"delete/", leads, nil),
	}
}

// rowsOfWebhooks are the pages of a webhook that fails.
func (s *stage) rowsOfWebhooks(tb testing.TB, owner string) []pageRow {
	tb.Helper()
	hook := s.added(tb, owner, "https://receiver.harbour-energy.example/hooks/validations")
	run := s.Started(tb, s.Start(tb, "")).ID
	s.Work(tb)
	if _, err := s.Publisher.RunOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	s.Exec(tb, `UPDATE webhook_deliveries SET attempts = 3, due_at = now() + interval '30 minutes'`)
	s.Exec(tb, `
		INSERT INTO webhook_attempts (org_id, webhook_id, position, number, at, took_us, status, reason, excerpt)
		SELECT org_id, webhook_id, position, n, now() - (3 - n) * interval '2 hours', 150000, 503,
			'It answered with status 503.', '{"message":"the database is down"}'
		FROM webhook_deliveries, generate_series(1, 3) AS n`)
	s.Exec(tb, `UPDATE webhooks SET failing_since = now() - interval '4 hours', resend_after = 1764000000000000,
		resend_until = 1764000000000001, header_names = '{Authorization,X-Team}',
		description = 'Tells the billing of each meter that passed.'`)
	event := coretest.One[string](tb, s.DB, `SELECT id::text FROM events WHERE run_id = $1`, run)
	row := func(name, path, route string) pageRow {
		return pageRow{
			name: name, path: fixture.HarbourPages + path, route: "/app/orgs/:org/webhooks/" + route, session: owner,
		}
	}
	rotated := row("webhook-secret", hook, ":id/")
	rotated.then = func(tab *browser.Tab) {
		tab.Click(`details:has(form[action$="/rotate/"]) summary`)
		tab.Follow(`form[action$="/rotate/"] .btn`)
	}
	return []pageRow{
		row("webhooks-of-run", "webhooks/?run="+run, ""), row("webhook", hook, ":id/"),
		row("webhook-delivery", hook+"deliveries/"+event+"/", ":id/deliveries/:event/"), rotated,
	}
}
