//go:build slow

package pages

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/browser"
)

// TestInvitedMemberInABrowser follows somebody from the link of an invitation to the verdict of the first run, with a
// second factor on the way.
func TestInvitedMemberInABrowser(t *testing.T) {
	t.Parallel()
	const email, password = "kim@b.example", "a long new password"
	s := setup(t)
	s.ExecutesLocally(t)
	invited := s.Must(t, http.StatusCreated, fixture.Adding(s.Harbour.Tokens.Owner,
		`{"email":"`+email+`","role":"executor"}`))
	link := s.LinkOf(t, fixture.Decoded[api.InvitationLink](t, invited).ID)
	document := upload(t, "readings.csv", fixture.SampleText(t, "good/meter-readings.csv"))
	address := "http://" + s.Address
	tab := browser.Open(t).Tab(t, browser.Viewport{})

	// Accept, with a name and a password.
	tab.Go(address + link)
	tab.Fill("#name", "Kim")
	tab.Fill("#new", password)
	tab.Fill("#again", password)
	tab.Follow("main form button.main")
	tab.Await(".notice")
	if got := tab.Address(); got != address+fixture.HarbourPages {
		t.Fatalf("accepting leads to %s", got)
	}

	// Set up an authenticator app, because the organization requires one.
	s.Exec(t, `UPDATE organizations SET second_factor_required = true WHERE id = $1`, s.Harbour.ID)
	tab.Go(address + fixture.HarbourPages)
	tab.Follow("main a.btn.main")
	tab.Follow(`form[action$="/second-factor/"] .btn`)
	tab.Await("svg.qr path")
	app := authenticator{secret: strings.ReplaceAll(tab.Text("#factor-key"), " ", "")}
	tab.Fill("#code", s.code(t, app, -1))
	tab.Follow(`form[action$="/confirm/"] .main`)
	tab.Await("#codes")
	if n := tab.Count("#codes li"); n != 10 {
		t.Errorf("recovery codes = %d, want 10", n)
	}

	// Sign out and in again.
	tab.Click("details.account summary")
	tab.Follow(`form[action="/app/sign-out/"] .btn`)
	tab.Await("#password")
	tab.Fill("#email", email)
	tab.Fill("#password", password)
	tab.Follow("main form button.main")
	tab.Await("#code")
	tab.Fill("#code", s.code(t, app, 1))
	tab.Follow("main form button.main")
	tab.Await(".shell")

	// Start the first run and see its verdict.
	tab.Go(address + fixture.LaunchMeters)
	tab.Upload("#file", document)
	tab.Follow("form.launch .btn.main")
	tab.Await("#run-pill .pill.ok")
	if got := tab.Address(); !strings.Contains(got, fixture.HarbourPages+"runs/") {
		t.Errorf("the launch leads to %s, want a run", got)
	}
	if problems := tab.Complaints(); len(problems) > 0 {
		t.Errorf("the browser complains: %v", problems)
	}
}
