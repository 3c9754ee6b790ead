//go:build slow

package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestWebhookIsMendedInABrowser follows somebody who sets a webhook up, whose receiver refuses what it gets, and who
// mends it and has it get what it has missed. Nothing but the first page has its address entered.
func TestWebhookIsMendedInABrowser(t *testing.T) {
	t.Parallel()
	s := setup(t, fixture.ReachesReceivers)
	s.ExecutesLocally(t)
	// The receiver does not know the secret yet.
	var verifies atomic.Pointer[client.WebhookReceiver]
	verifies.Store(&client.WebhookReceiver{Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}})
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		verifies.Load().Handler(func(context.Context, api.Event) error { return nil }).ServeHTTP(w, r)
	}))
	t.Cleanup(receiver.Close)

	// Set it up.
	tab := s.tab(t, browser.Open(t), 1280, fixture.HarbourPages, s.Visitor(t, api.RoleAdmin))
	tab.Follow(`nav a[href$="/webhooks/"]`)
	tab.Fill("#url", receiver.URL)
	tab.Fill("#description", "Bills the meters")
	tab.Click(`input[value="run.completed"]`)
	tab.Follow("main form .btn.main")
	secret := tab.Text("main .mono")
	if !strings.HasPrefix(secret, "whsec_") {
		t.Fatalf("secret = %q, want one to copy", secret)
	}

	// Try it, by a double click, and see why it fails.
	tab.DoubleClick(`form[action$="/test/"] .btn`)
	tab.Await("h1.mono")
	tab.Settle()
	s.Deliver(t)
	tab.Await("#list .pill.fail")
	if said := tab.Text("#list"); !strings.Contains(said, "400") || !strings.Contains(said, "webhook-signature") {
		t.Errorf("the attempts say %q, want the status and the answer of the receiver", said)
	}
	if n := coretest.One[int](t, s.DB, `SELECT count(*) FROM events`); n != 1 {
		t.Errorf("events = %d, want one test", n)
	}
	tab.Follow(`.trail a:nth-of-type(2)`)
	tab.Await("#trouble .warning")

	// Meanwhile runs end, and come to the attention of whoever opens the overview.
	const runs = 3
	for range runs {
		s.Started(t, s.Start(t, ""))
	}
	coretest.Await(t, "the runs have ended", func() bool {
		return coretest.One[int](t, s.DB, `SELECT count(*) FROM events`) == runs+1
	})
	s.Deliver(t)
	s.Exec(t, `UPDATE webhooks SET failing_since = now() - interval '10 minutes'`)
	tab.Follow(`nav a[href="` + fixture.HarbourPages + `"]`)
	tab.Follow(`main a[href$="/webhooks/"]`)
	tab.Await(".pill.warn")
	tab.Follow("main tbody th a")
	tab.Follow(`.tabs a[href*="state=failed"]`)
	tab.Follow("#list tbody th a")
	tab.Await("#list .pill.fail")

	// Mend the receiver, and send this one event.
	verifies.Store(&client.WebhookReceiver{Secrets: []string{secret}})
	tab.Follow(`form[action$="/resend/"] .btn`)
	s.Deliver(t)
	tab.Await("#pill .pill.ok")
	// The run that it tells of leads to its events, and those to their deliveries.
	tab.Follow(`.facts a[href*="/runs/"]`)
	tab.Follow(`a[href*="/webhooks/?run="]`)
	tab.Follow(`a[href*="/deliveries/"]`)
	tab.Await("#pill .pill.ok")

	// Recover the rest, since the time that the page proposes.
	tab.Follow(`.trail a:nth-of-type(2)`)
	if tab.Count("#trouble .warning") != 0 {
		t.Error("a webhook that works is in trouble")
	}
	tab.Follow(`form.filters .btn`)
	tab.Await("#progress .pill.run")
	s.Deliver(t)
	tab.Await("#progress:not(:has(.pill))")
	tab.Follow(`.tabs a[href*="state=failed"]`)
	tab.Await(".empty")
	if n := coretest.One[int](t, s.DB, `SELECT count(*) FROM webhook_deliveries WHERE delivered`); n != runs+1 {
		t.Errorf("the receiver has taken %d events, want the test and those of %d runs", n, runs)
	}
	if problems := tab.Complaints(); len(problems) > 0 {
		t.Errorf("the browser complains: %v", problems)
	}
}
