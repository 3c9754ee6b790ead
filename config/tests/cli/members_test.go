package cli

import (
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestMemberCommands(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	ctx := t.Context()
	token, _ := s.AddToken(t, s.Harbour, "owner", "owner")
	d := setupDesk(t, "http://"+s.Address, token)

	invite := []string{"members", "set", "kim@harbour-energy.example", "viewer", "--name", "Kim", "--key", "k"}
	invited := d.run(ctx, invite...)
	invited.want(t, 0, "kim@harbour-energy.example is invited as viewer")
	if again := d.run(ctx, invite...); again.output != invited.output {
		t.Errorf("repetition = %q, want %q", again.output, invited.output)
	}
	d.run(ctx, "members", "remove", "nobody@harbour-energy.example").want(t, 2, "no open invitation")
	d.run(ctx, "members", "remove", "Kim@harbour-energy.example").want(t, 0, "ended the invitation")
	d.run(ctx, "members", "set", "lee@harbour-energy.example").want(t, 2, "ROLE is missing")

	id := s.AddMember(t, "lee", api.RoleViewer)
	d.run(ctx, "members", "list").want(t, 0, "viewer", "lee@harbour-energy.example")
	d.run(ctx, "members", "list", "--json").want(t, 0, `"schema_version": 1`, `"email": "lee@harbour-energy.example"`)
	d.run(ctx, "members", "list", "--json", "--limit", "1").want(t, 0, "--limit 0 lists all")
	d.run(ctx, "members", "set", "Lee@harbour-energy.example", "author").want(t, 0, "is author")
	d.run(ctx, "members", "set", id.String(), "king").want(t, 2, "role must be one of")
	d.run(ctx, "members", "remove", id.String()).want(t, 0, "removed")
	if got := d.run(ctx, "members", "list"); strings.Contains(got.output, "lee@") {
		t.Errorf("members = %s, want none that was removed", got.output)
	}
	viewer := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer)
	viewer.run(ctx, "members", "list").want(t, 0, "owner")
	viewer.run(ctx, "members", "remove", id.String()).want(t, 5, "permission_denied")
}

func TestTokenRotateCommand(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	ctx := t.Context()
	token, id := s.AddToken(t, s.Harbour, "owner", "author")
	d := setupDesk(t, "http://"+s.Address, token)
	made := d.run(ctx, "token", "rotate", id.String(), "--overlap", "1h")
	made.want(t, 0, "svt_")
	setupDesk(t, "http://"+s.Address, strings.TrimSpace(made.output)).run(ctx, "whoami").want(t, 0, "author")
	d.run(ctx, "whoami").want(t, 0, "author")
	d.run(ctx, "token", "rotate", id.String()).want(t, 2, "token_not_rotatable")
	d.run(ctx, "token", "rotate", id.String(), "--overlap", "200h").want(t, 2, "overlap_ms must be at most")
}
