package api

import (
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func (s externalStage) exercisesOfMembers(tb testing.TB) []exercise {
	tb.Helper()
	owner := s.Harbour.Tokens.Owner
	id := s.AddMember(tb, "exercised", api.RoleExecutor)
	last, err := s.Users.Accounts.User(tb.Context(), "owner@harbour-energy.example")
	if err != nil {
		tb.Fatal(err)
	}
	leaving := s.TokenOf(tb, s.AddMember(tb, "exercised-leaving", api.RoleViewer), api.RoleViewer)
	add := fixture.Adding(owner, `{"email":"exercised-too@b.example","role":"viewer"}`)
	return []exercise{
		{200, call{Path: "/api/members/?page_size=1", Token: owner}},
		{400, call{Path: "/api/members/?page_size=x", Token: owner}},
		{201, add},
		{400, add},
		{400, fixture.Adding(owner, `{"email":"nobody","role":"king"}`)},
		{415, add.WithBody("text/plain", "no")},
		{403, add.By(s.Harbour.Tokens.Viewer)},
		{200, setRole(id, owner, api.RoleViewer)},
		{400, setRole(id, owner, "king")},
		{422, setRole(last.ID, owner, api.RoleViewer)},
		{422, remove(last.ID, owner)},
		{204, remove(id, owner)},
		{204, remove(id, owner)},
		{204, leave(leaving)},
		{403, leave(leaving)},
		{422, leave(owner)},
	}
}

func (s externalStage) exercisesOfInvitations(tb testing.TB) []exercise {
	tb.Helper()
	owner, executor, viewer := s.Harbour.Tokens.Owner, s.Harbour.Tokens.Executor, s.Harbour.Tokens.Viewer
	open := "/api/members/invitations/" + s.Invited(tb, "exercised-open@b.example") + "/"
	// The members of harbour are invited to the other organization.
	byTiny := func(email string) call {
		body := `{"email":"` + email + `","role":"viewer"}`
		made := s.Must(tb, 201, fixture.Adding(s.Tiny.Tokens.Owner, body))
		id := fixture.Decoded[api.Invitation](tb, made).ID
		return call{Method: http.MethodPost, Path: "/api/invitations/" + id + "/", Token: owner}
	}
	accepted, declined := byTiny("owner@harbour-energy.example"), byTiny("executor@harbour-energy.example").By(executor)
	linked := call{Method: http.MethodPost, Path: open + "link/", Token: owner}
	revoked := call{Method: http.MethodDelete, Path: open, Token: owner}
	own := call{Path: "/api/invitations/", Token: owner}
	return []exercise{
		{200, call{Path: "/api/members/invitations/?page_size=1", Token: owner}},
		{403, call{Path: "/api/members/invitations/", Token: viewer}},
		{201, linked},
		{403, linked.By(viewer)},
		{404, linked.By(s.Tiny.Tokens.Owner)},
		{204, revoked},
		{204, revoked},
		{403, revoked.By(viewer)},
		{200, own},
		{403, own.By(viewer)},
		{200, accepted.To(accepted.Path + "accept/")},
		{200, accepted.To(accepted.Path + "accept/")},
		{404, accepted.To(accepted.Path + "accept/").By(executor)},
		{403, accepted.To(accepted.Path + "accept/").By(viewer)},
		{204, declined.To(declined.Path + "decline/")},
		{404, declined.To(declined.Path + "decline/")},
	}
}

func (s externalStage) exercisesOfTokens(tb testing.TB) []exercise {
	tb.Helper()
	owner := s.Harbour.Tokens.Owner
	_, id := s.AddToken(tb, s.Harbour, api.RoleOwner, api.RoleViewer)
	return []exercise{
		{200, call{Path: "/api/tokens/?page_size=2", Token: owner}},
		{400, call{Path: "/api/tokens/?page_size=x", Token: owner}},
		{201, tokenCall(owner, `{"label":"exercised","role":"viewer"}`)},
		{201, tokenCall(owner, `{"label":"short","role":"viewer","valid_for_ms":60000}`)},
		{400, tokenCall(owner, `{"label":"","role":"viewer"}`)},
		{403, tokenCall(s.Harbour.Tokens.Viewer, `{"label":"more","role":"owner"}`)},
		{201, rotate(id.String(), owner, `{"overlap_ms":1000}`)},
		{422, rotate(id.String(), owner, "")},
		{400, rotate(id.String(), owner, `{"overlap_ms":-1}`)},
		{204, revoke(id.String(), owner)},
		{404, revoke(id.String(), s.Tiny.Tokens.Owner)},
	}
}

func (s externalStage) exercisesOfAccount() []exercise {
	viewer, owner := call{Token: s.Harbour.Tokens.Viewer}, call{Token: s.Harbour.Tokens.Owner}
	return []exercise{
		{200, viewer.To("/api/me/")},
		{200, viewer.To("/api/orgs/")},
		{200, viewer.To("/api/organization/")},
		{200, patching(owner, `{"key_required":false,"content_retention_ms":0,"key_lifetime_ms":null}`)},
		{400, patching(owner, `{"key_lifetime_ms":-1}`)},
		{403, patching(viewer, `{"key_required":true}`)},
		{200, viewer.To("/api/usage/")},
		{200, viewer.By(s.Tiny.Tokens.Viewer).To("/api/usage/")},
		{200, owner.To("/api/audit/?page_size=3")},
		{403, viewer.To("/api/audit/")},
		{200, owner.To("/api/signing-secrets/")},
		{403, viewer.To("/api/signing-secrets/")},
	}
}
