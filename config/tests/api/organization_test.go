package api

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// patching changes the settings of the organization of a caller.
func patching(by call, body string) call {
	c := by.To("/api/organization/").WithBody("application/json", body)
	c.Method = http.MethodPatch
	return c
}

func TestOrganizationSettings(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := call{Token: s.Harbour.Tokens.Owner}
	read := func() api.OrganizationSettings {
		return fixture.Decoded[api.OrganizationSettings](t, s.Must(t, http.StatusOK, owner.To("/api/organization/")))
	}
	before := read()
	if before.Slug != "harbour-energy" || before.RunQuota == nil || *before.RunQuota != 1_000_000 ||
		before.KeyLifetimeMS != nil || before.KeyRequired || before.MaxTokens != 50 {
		t.Fatalf("settings = %+v", before)
	}

	// What is left out stays, and null is the default of the service.
	s.Must(t, http.StatusOK,
		patching(owner, `{"key_required":true,"key_lifetime_ms":7200000,"content_retention_ms":0}`))
	s.Must(t, http.StatusOK, patching(owner, `{"name":" Harbour "}`))
	changed := read()
	if !changed.KeyRequired || *changed.KeyLifetimeMS != 2*time.Hour.Milliseconds() ||
		*changed.ContentRetentionMS != 0 || changed.FindingsRetentionMS != nil || changed.Name != "Harbour" {
		t.Errorf("settings = %+v, want the changes", changed)
	}
	s.Refused(t, api.CodeKeyRequired, s.Start(t, ""))
	s.Must(t, http.StatusOK,
		patching(owner, `{"key_required":false,"key_lifetime_ms":null,"content_retention_ms":null}`))
	if again := read(); again.KeyRequired || again.KeyLifetimeMS != nil || again.ContentRetentionMS != nil {
		t.Errorf("settings = %+v, want the defaults", again)
	}
	// To repeat a change is none.
	s.Must(t, http.StatusOK, patching(owner, `{"key_required":false}`))
	if n := coretest.One[int64](t, s.DB,
		`SELECT count(*) FROM audit_records WHERE action = 'organization.change' AND actor_id IS NOT NULL`); n != 3 {
		t.Errorf("changes in the audit log = %d, want 3", n)
	}

	// An owner without a second factor would be the first to be refused.
	require := patching(owner, `{"second_factor_required":true}`)
	s.Refused(t, api.CodeSecondFactorRequired, require)
	s.AddFactor(t, coretest.One[uuid.UUID](t, s.DB,
		`SELECT id FROM users WHERE email = 'owner@harbour-energy.example'`))
	if required := fixture.Decoded[api.OrganizationSettings](t, s.Must(t, http.StatusOK, require)); !required.
		SecondFactorRequired {
		t.Errorf("settings = %+v, want a second factor to be required", required)
	}
	s.Refused(t, api.CodeSecondFactorRequired, call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer})
	s.Must(t, http.StatusOK, patching(owner, `{"second_factor_required":false}`))
	s.Must(t, http.StatusOK, call{Path: "/api/me/", Token: s.Harbour.Tokens.Viewer})

	for name, body := range map[string]string{
		"NoLife":      `{"key_lifetime_ms":0}`,
		"ShortLife":   `{"key_lifetime_ms":59999}`,
		"LongLife":    `{"key_lifetime_ms":2592000001}`,
		"ShortPeriod": `{"content_retention_ms":3599999}`,
		"Negative":    `{"findings_retention_ms":-1}`,
		"TooLong":     `{"findings_retention_ms":9223372036854775807}`,
		"NoNumber":    `{"findings_retention_ms":"x"}`,
		"NoName":      `{"name":""}`,
		"BlankName":   `{"name":"   "}`,
		"Quota":       `{"run_quota":5}`,
		"Null":        `null`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			problem := fixture.WantProblem(t, s.Do(t, patching(owner, body)), api.CodeInvalidPayload)
			member, _, _ := strings.Cut(strings.TrimPrefix(body, `{"`), `"`)
			if name != "Null" && (len(problem.Errors) != 1 || problem.Errors[0].Pointer != "/"+member) {
				t.Errorf("errors = %+v, want one at /%s", problem.Errors, member)
			}
		})
	}
}
