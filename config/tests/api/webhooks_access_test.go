package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// notesEvent writes an event of harbour in the session.
const notesEvent = `SELECT note_event((SELECT id FROM organizations WHERE slug = 'harbour-energy'),
	'key.abandoned', run => NULL, workflow => NULL, body => json_build_object('url', 'x'))`

// published writes an event of harbour, publishes it and returns its id.
func (s *stage) published(tb testing.TB) string {
	tb.Helper()
	s.logsEvents(tb)
	s.Exec(tb, notesEvent)
	if _, err := s.Publisher.RunOnce(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return s.events(tb, "")[0].ID
}

func (s *stage) accessToWebhooks(tb testing.TB) map[string]fixture.Access {
	tb.Helper()
	event := s.published(tb)
	hook := "/api/webhooks/" + s.webhook(tb, "https://hooks.example/access", "").ID + "/"
	gone := "/api/webhooks/" + s.webhook(tb, "https://hooks.example/gone", "").ID + "/"
	admin := func(method, path, body string, ok, foreign int) fixture.Access {
		c := call{Method: method, Path: path}
		if body != "" {
			c = c.WithBody("application/json", body)
		}
		return fixture.Access{Call: c, Least: api.RoleAdmin, OK: ok, Foreign: foreign}
	}
	const get, post = http.MethodGet, http.MethodPost
	return map[string]fixture.Access{
		"GET /api/events/":     readable("/api/events/", 200),
		"GET /api/events/:id/": readable("/api/events/"+event+"/", 404),
		"GET /api/webhooks/":   admin(get, "/api/webhooks/", "", 200, 200),
		"POST /api/webhooks/": admin(post, "/api/webhooks/", `{"url":"https://hooks.example/ROLE"}`,
			201, 201),
		"GET /api/webhooks/:id/":            admin(get, hook, "", 200, 404),
		"PATCH /api/webhooks/:id/":          admin(http.MethodPatch, hook, `{"description":"changed"}`, 200, 404),
		"DELETE /api/webhooks/:id/":         admin(http.MethodDelete, gone, "", 204, 204),
		"POST /api/webhooks/:id/rotate/":    admin(post, hook+"rotate/", "", 201, 404),
		"POST /api/webhooks/:id/test/":      admin(post, hook+"test/", "", 202, 404),
		"POST /api/webhooks/:id/resend/":    admin(post, hook+"resend/", `{"event":"`+event+`"}`, 202, 404),
		"GET /api/webhooks/:id/deliveries/": admin(get, hook+"deliveries/", "", 200, 404),
	}
}

func (s externalStage) exercisesOfWebhooks(tb testing.TB) []exercise {
	tb.Helper()
	event, viewer := s.published(tb), s.Harbour.Tokens.Viewer
	hook := "/api/webhooks/" + s.webhook(tb, "https://hooks.example/exercised", "").ID + "/"
	gone := "/api/webhooks/" + s.webhook(tb, "https://hooks.example/gone", "").ID + "/"
	const get, post, patch = http.MethodGet, http.MethodPost, http.MethodPatch
	create := func(body string) call { return s.owner(post, "/api/webhooks/", body) }
	resend := s.owner(post, hook+"resend/", `{"event":"`+event+`"}`).With("Idempotency-Key", "resend")
	return []exercise{
		{200, s.reading("/api/events/?type=run.completed")},
		{400, s.reading("/api/events/?after=x")},
		{400, s.reading("/api/events/?last=201")},
		{200, s.reading("/api/events/" + event + "/")},
		{200, s.owner(get, "/api/webhooks/?page_size=1", "")},
		{403, s.owner(get, "/api/webhooks/", "").By(viewer)},
		{201, create(`{"url":"https://hooks.example/v1a","signature":"v1a","event_types":["run.completed"],` +
			`"workflow":null}`)},
		{400, create(`{"url":"http:/x"}`)},
		{403, create(`{"url":"https://hooks.example/v"}`).By(viewer)},
		{200, s.owner(get, hook, "")},
		{200, s.owner(patch, hook, `{"enabled":false,"headers":{"X-From":"us"}}`)},
		{400, s.owner(patch, hook, `{"headers":{"Host":"us"}}`)},
		{201, s.owner(post, hook+"rotate/", "")},
		{202, s.owner(post, hook+"test/", "").With("Idempotency-Key", "test")},
		{202, s.owner(post, hook+"test/", "").With("Idempotency-Key", "test")},
		{202, resend},
		{422, s.owner(post, hook+"resend/", `{"since":"2026-03-01T00:00:00Z"}`).With("Idempotency-Key", "resend")},
		{202, s.owner(post, hook+"resend/", `{"since":"2026-03-01T00:00:00Z"}`)},
		{400, s.owner(post, hook+"resend/", `{}`)},
		{404, s.owner(post, hook+"resend/", `{"event":"`+unknownID+`"}`)},
		{200, s.owner(get, hook+"deliveries/?state=pending", "")},
		{204, s.owner(http.MethodDelete, gone, "")},
		{204, s.owner(http.MethodDelete, gone, "")},
	}
}

// TestWebhookNeedsTheSecretKey tries an installation that has lost the key that encrypts secrets.
func TestWebhookNeedsTheSecretKey(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.SecretKey = "" })
	s.Refused(t, api.CodeUnavailable, s.owner(http.MethodPost, "/api/webhooks/", `{"url":"https://hooks.example/"}`))
}

func TestWebhookIsRefused(t *testing.T) {
	t.Parallel()
	s := webhookStage(t)
	long := s.Do(t, s.owner(http.MethodPost, "/api/webhooks/",
		`{"url":"https://hooks.example/","description":"`+strings.Repeat("x", 201)+`"}`))
	if errors := fixture.WantProblem(t, long, api.CodeInvalidPayload).Errors; len(errors) != 1 ||
		errors[0].Pointer != "/description" {
		t.Errorf("errors = %+v, want one at /description", errors)
	}
	s.webhook(t, "https://hooks.example/a", "")
	for name, body := range map[string]string{
		"WithoutURL":         `{}`,
		"WithPassword":       `{"url":"https://me:secret@hooks.example/"}`,
		"WithFTP":            `{"url":"ftp://hooks.example/"}`,
		"TwiceForOneURL":     `{"url":"https://hooks.example/a"}`,
		"ForUnknownType":     `{"url":"https://hooks.example/b","event_types":["run.exploded"]}`,
		"ForUnknownWorkflow": `{"url":"https://hooks.example/b","workflow":"` + unknownID + `"}`,
		"WithHeaderOfOurs":   `{"url":"https://hooks.example/b","headers":{"Webhook-Id":"1"}}`,
		"WithUnknownMember":  `{"url":"https://hooks.example/b","secret":"whsec_x"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.Refused(t, api.CodeInvalidPayload, s.owner(http.MethodPost, "/api/webhooks/", body))
		})
	}
}
