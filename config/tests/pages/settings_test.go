package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/workflows"
)

func TestSettingsPage(t *testing.T) {
	t.Parallel()
	const page = fixture.HarbourPages + "settings/"
	s := setup(t)
	owner, viewer := s.Visitor(t, api.RoleOwner), s.Visitor(t, api.RoleViewer)
	html := s.see(t, fixture.Page(page, viewer))
	fixture.Shows(t, html, "1,000,000", "up to 50 active", "kept for the default time", "Leave Harbour Energy")
	fixture.Hides(t, html, "Save</button>", "Signing secrets")
	save := func(fields url.Values) call { return fixture.Post(page, owner, fields) }
	s.Visit(t, http.StatusSeeOther, save(url.Values{
		"name": {hostile}, "key_required": {"true"}, "key_hours": {"1.5"}, "content_days": {"0"},
		"findings_days": {"7"}, "event_log": {"true"},
	}))
	html = s.see(t, fixture.Page(page, owner))
	fixture.Shows(t, html, "&lt;script&gt;", `value="1.5"`, `value="0"`, `value="7"`, " checked")
	fixture.Hides(t, html, "<script>alert")
	shown := s.see(t, fixture.Page(page, viewer))
	fixture.Shows(t, shown, "kept for ever", "kept for 7 days", "1.5 hours")
	got := coretest.One[string](t, s.DB, `SELECT concat_ws(' ', key_required, key_lifetime, content_retention,
		findings_retention, event_log) FROM organizations WHERE slug = 'harbour-energy'`)
	if got != "t 01:30:00 00:00:00 168:00:00 t" {
		t.Errorf("stored %s", got)
	}
	for name, fields := range map[string]url.Values{
		"NoName":    {"name": {""}},
		"TooShort":  {"name": {"x"}, "key_hours": {"0.001"}},
		"TooLong":   {"name": {"x"}, "content_days": {"36501"}},
		"NoNumber":  {"name": {"x"}, "content_days": {"1e3x"}},
		"Negative":  {"name": {"x"}, "findings_days": {"-1"}},
		"Minutes":   {"name": {"x"}, "findings_days": {"0.01"}},
		"NotNumber": {"name": {"x"}, "findings_days": {"NaN"}},
	} {
		if got := s.AnswerTo(t, save(fields)); got.Status != http.StatusBadRequest {
			t.Errorf("%s: status = %d, want 400", name, got.Status)
		}
	}
	s.Visit(t, http.StatusSeeOther, save(url.Values{"name": {"Harbour Energy"}}))
	if got := coretest.One[string](t, s.DB, `SELECT concat_ws(' ', key_required, key_lifetime, content_retention,
		findings_retention) FROM organizations WHERE slug = 'harbour-energy'`); got != "f" {
		t.Errorf("stored %s, want the defaults", got)
	}
	none := s.AnswerTo(t, save(url.Values{"name": {"Harbour Energy"}, "key_hours": {"0"}}))
	if none.Status != http.StatusBadRequest {
		t.Errorf("no hours: status = %d, want 400", none.Status)
	}
}

func TestSecretsPage(t *testing.T) {
	t.Parallel()
	const page = fixture.HarbourPages + "settings/secrets/"
	s := setup(t)
	admin, owner := s.Visitor(t, api.RoleAdmin), s.Visitor(t, api.RoleOwner)
	fixture.Shows(t, s.Visit(t, http.StatusCreated, fixture.Post(page, admin, nil)), "No workflow calls an external")
	var draft workflows.Draft
	if err := json.Unmarshal([]byte(`{"slug":"outside","name":"Outside","is_active":true,"definition":{
		"accepts":["text/csv"],"steps":[{"id":"a","name":"A","type":"http","config":{"url":"https://checks.example/v"}}]
		}}`), &draft); err != nil {
		t.Fatal(err)
	}
	s.AddWorkflow(t, s.Harbour, draft)
	shown := s.AnswerTo(t, fixture.Post(page, admin, nil))
	fixture.WantHeader(t, shown, map[string]string{"Cache-Control": "no-store"})
	first := secretIn(string(shown.Body))
	if first == "" {
		t.Fatalf("no secret in %s", shown.Body)
	}
	s.Visit(t, http.StatusForbidden, fixture.Post(page+"rotate/", admin, nil))
	s.Visit(t, http.StatusSeeOther, fixture.Post(page+"rotate/", owner, nil))
	html := s.Visit(t, http.StatusCreated, fixture.Post(page, admin, nil))
	if secretIn(html) == first {
		t.Error("the secret is the one before the rotation")
	}
	fixture.Shows(t, html, "https://checks.example", first)
	if n := coretest.One[int64](t, s.DB, `SELECT count(*) FROM audit_records
		WHERE actor_id IS NOT NULL AND action IN ('signing_secret.read', 'signing_secret.rotate')`); n != 4 {
		t.Errorf("records in the audit log = %d, want 4", n)
	}
}

// secretIn returns the first signing secret of a page.
func secretIn(html string) string {
	_, rest, found := strings.Cut(html, `data-copy="svs_`)
	if !found {
		return ""
	}
	secret, _, _ := strings.Cut(rest, `"`)
	return "svs_" + secret
}
