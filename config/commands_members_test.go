package config_test

import (
	"strings"
	"testing"
)

func TestMemberCommands(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	token, _ := s.addToken(t, s.Harbour, "owner", "owner")
	d := setupDesk(t, "http://"+s.address, token)

	add := []string{
		"members", "add", "kim@harbour-energy.example", "--name", "Kim", "--role", "viewer", "--key", "k",
	}
	added := d.run(ctx, add...)
	added.want(t, 0)
	if again := d.run(ctx, add...); again.output != added.output {
		t.Errorf("repetition = %q, want %q", again.output, added.output)
	}
	d.run(ctx, "members", "list").want(t, 0, "viewer", "kim@harbour-energy.example", "Kim")
	d.run(ctx, "members", "list", "--json").want(t, 0, `"schema_version": 1`, `"email": "kim@harbour-energy.example"`)
	d.run(ctx, "members", "role", "Kim@harbour-energy.example", "author").want(t, 0, "is author")
	d.run(ctx, "members", "role", strings.TrimSpace(added.output), "king").want(t, 2, "role must be one of")
	d.run(ctx, "members", "role", "nobody@harbour-energy.example", "viewer").want(t, 2, "no member has")
	d.run(ctx, "members", "add", "lee@harbour-energy.example").want(t, 2, `"role"`)
	d.run(ctx, "members", "remove", strings.TrimSpace(added.output)).want(t, 0, "removed")
	if got := d.run(ctx, "members", "list"); strings.Contains(got.output, "kim@") {
		t.Errorf("members = %s, want none that was removed", got.output)
	}
	d.run(ctx, "audit", "list").want(t, 0, "member.add", "member.remove", "owner@harbour-energy.example")
	d.run(ctx, "audit", "list", "--limit", "1", "--json").want(t, 0, `"action": "member.remove"`, "--limit 0 lists all")
	viewer := setupDesk(t, "http://"+s.address, s.Harbour.Tokens.Viewer)
	viewer.run(ctx, "audit", "list").want(t, 5, "permission_denied")
	viewer.run(ctx, "members", "list").want(t, 0, "owner")
}

func TestTokenRotateCommand(t *testing.T) {
	t.Parallel()
	s := setup(t)
	ctx := t.Context()
	token, id := s.addToken(t, s.Harbour, "owner", "author")
	d := setupDesk(t, "http://"+s.address, token)
	made := d.run(ctx, "token", "rotate", id.String(), "--overlap", "1h")
	made.want(t, 0, "sv_")
	setupDesk(t, "http://"+s.address, strings.TrimSpace(made.output)).run(ctx, "whoami").want(t, 0, "author")
	d.run(ctx, "whoami").want(t, 0, "author")
	d.run(ctx, "token", "rotate", id.String()).want(t, 2, "token_not_rotatable")
	d.run(ctx, "token", "rotate", id.String(), "--overlap", "200h").want(t, 2, "overlap_ms must be at most")
}
