package cli

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestMemberCommands(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	token, _ := s.AddToken(t, s.Harbour, "owner", "owner")
	d := setupDesk(t, "http://"+s.Address, token)

	invite := []string{
		"members", "invite", "kim@harbour-energy.example", "--name", "Kim", "--role", "viewer", "--key", "k",
	}
	invited := d.run(ctx, invite...)
	invited.want(t, 0)
	if again := d.run(ctx, invite...); again.output != invited.output {
		t.Errorf("repetition = %q, want %q", again.output, invited.output)
	}
	d.run(ctx, "members", "invitations").want(t, 0, "invited", "viewer", "kim@harbour-energy.example", "Kim")
	d.run(ctx, "members", "link", strings.TrimSpace(invited.output)).want(t, 0, "/app/invitations/sv_")
	d.run(ctx, "members", "link", "Kim@harbour-energy.example").want(t, 0, "/app/invitations/sv_")
	d.run(ctx, "members", "revoke", "nobody@harbour-energy.example").want(t, 2, "no open invitation")
	d.run(ctx, "members", "revoke", "kim@harbour-energy.example").want(t, 0, "revoked")
	d.run(ctx, "members", "invite", "lee@harbour-energy.example").want(t, 2, "--role is missing")

	id := s.AddMember(t, "lee", core.RoleViewer)
	d.run(ctx, "members", "list").want(t, 0, "viewer", "lee@harbour-energy.example")
	d.run(ctx, "members", "list", "--json").want(t, 0, `"schema_version": 1`, `"email": "lee@harbour-energy.example"`)
	d.run(ctx, "members", "role", "Lee@harbour-energy.example", "author").want(t, 0, "is author")
	d.run(ctx, "members", "role", id.String(), "king").want(t, 2, "role must be one of")
	d.run(ctx, "members", "role", "nobody@harbour-energy.example", "viewer").want(t, 2, "no member has")
	d.run(ctx, "members", "remove", id.String()).want(t, 0, "removed")
	if got := d.run(ctx, "members", "list"); strings.Contains(got.output, "lee@") {
		t.Errorf("members = %s, want none that was removed", got.output)
	}
	d.run(ctx, "audit", "list").want(t, 0, "invitation.create", "member.remove", "owner@harbour-energy.example")
	d.run(ctx, "audit", "list", "--limit", "1", "--json").want(t, 0, `"action": "member.remove"`, "--limit 0 lists all")
	viewer := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer)
	viewer.run(ctx, "audit", "list").want(t, 5, "permission_denied")
	viewer.run(ctx, "members", "list").want(t, 0, "owner")
}

func TestInvitationCommands(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	accepted := s.Invited(t, "viewer@tiny-quota.example").String()
	d := setupDesk(t, "http://"+s.Address, s.Tiny.Tokens.Viewer)
	d.run(ctx, "invitations", "list").want(t, 0, accepted, "harbour-energy", "viewer")
	d.run(ctx, "invitations", "accept", accepted).want(t, 0, "you are viewer of harbour-energy")
	owner := setupDesk(t, "http://"+s.Address, s.Tiny.Tokens.Owner)
	owner.run(ctx, "invitations", "decline", s.Invited(t, "owner@tiny-quota.example").String()).want(t, 0, "declined")
	owner.run(ctx, "members", "leave").want(t, 2, "last_owner")
	d.run(ctx, "members", "leave").want(t, 0, "no longer a member")
}

func TestTokenRotateCommand(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	token, id := s.AddToken(t, s.Harbour, "owner", "author")
	d := setupDesk(t, "http://"+s.Address, token)
	made := d.run(ctx, "token", "rotate", id.String(), "--overlap", "1h")
	made.want(t, 0, "sv_")
	setupDesk(t, "http://"+s.Address, strings.TrimSpace(made.output)).run(ctx, "whoami").want(t, 0, "author")
	d.run(ctx, "whoami").want(t, 0, "author")
	d.run(ctx, "token", "rotate", id.String()).want(t, 2, "token_not_rotatable")
	d.run(ctx, "token", "rotate", id.String(), "--overlap", "200h").want(t, 2, "overlap_ms must be at most")
}
