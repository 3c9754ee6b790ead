package cli

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config/cmd"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// unrecordedCommands are commands that leave no audit record of their own, by the reason.
func unrecordedCommands() map[string]string {
	return map[string]string{
		"they read": `admin runs list, admin runs lost, check, config show, doctor,
			idempotency explain, idempotency list, idempotency show, infer, migrate plan, migrate status,
			openapi, org audit, org export, org list, org show, org usage, signing-secret show, user export,
			user list, version, workflows bundle, workflows lint`,
		"the API records what they ask for": `members list, members remove, members set, requests list, run,
			runs cancel, runs document, runs get, runs list, runs rerun, runs watch, token create, token list,
			token revoke, token rotate, usage, whoami, workflows export, workflows import, workflows list,
			workflows show`,
		"the settings decide what is deleted, and no person": `admin runs purge, idempotency purge`,
		"TestDeleteOrganization looks for its record":        `org delete`,
		"it needs the archive of another installation":       `org import`,
		"they change no organization":                        `migrate up, serve`,
		"TestResealSigningKeys looks for its records":        `secrets rotate`,
		"TestRevokeTokenAsOperator looks for its record":     `admin token revoke`,
	}
}

// TestEveryCommandThatWritesIsAudited runs every command of the operator's that writes.
func TestEveryCommandThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "")).ID.String()
	s.Exec(t, `DELETE FROM staged_jobs`)
	key := s.Abandoned(t, "audited").ID.String()
	const org, user = "harbour-energy", "owner@harbour-energy.example"
	actions := map[string][]string{
		"idempotency release":       {key, "--org", org, "--reason", "why"},
		"org create":                {"made-by-the-operator"},
		"org suspend":               {org, "--reason", "why"},
		"org resume":                {org, "--reason", "why"},
		"user delete":               {"viewer@harbour-energy.example"},
		"org set-keys":              {org, "--required", "--lifetime", "1h"},
		"org set-overage":           {org, "on"},
		"org set-quota":             {org, "10"},
		"org set-tokens":            {org, "20"},
		"org set-retention":         {org, "--content", "24h", "--findings", "24h"},
		"admin runs requeue":        {run, "--org", org},
		"seed":                      {"--demo"},
		"signing-secret rotate":     {"--org", org},
		"admin token create":        {"--org", org, "--user", user},
		"user remove-second-factor": {user},
		"user add":                  {"owner@tiny-quota.example", "--org", org, "--role", "viewer"},
		"user create":               {"shadow@b.example", "--org", org},
		"user link-password":        {user},
		"user disable":              {user, "--reason", "why"},
		"user enable":               {user, "--reason", "why"},
		"user unlink":               {user},
		"user set-operator":         {user, "on"},
		"user set-password":         {user, "--password-stdin"},
	}
	known := slices.Collect(maps.Keys(actions))
	for _, commands := range unrecordedCommands() {
		for name := range strings.SplitSeq(commands, ",") {
			known = append(known, strings.Join(strings.Fields(name), " "))
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(leaves(cmd.Program{}.Command()), known); diff != "" {
		t.Errorf("commands (-program +known):\n%s", diff)
	}
	const records = `SELECT count(*) FROM audit_records WHERE actor_id IS NULL`
	for name, args := range actions {
		before := coretest.One[int64](t, s.DB, records)
		var complaint bytes.Buffer
		code := cmd.Program{
			Environ: s.Console(t).Environ, Stdin: strings.NewReader("a long new password\n"), Stdout: &bytes.Buffer{},
			Stderr: &complaint,
		}.Run(t.Context(), append(strings.Fields(name), args...))
		if code != 0 {
			t.Errorf("%s = %d, want 0: %s", name, code, complaint.String())
			continue
		}
		if coretest.One[int64](t, s.DB, records) == before {
			t.Errorf("%s left no audit record", name)
		}
	}
}

// leaves are the commands that do something, in their order.
func leaves(root *cobra.Command) []string {
	var names []string
	for _, child := range root.Commands() {
		switch {
		case child.Name() == "completion" || child.Name() == "help":
		case child.HasSubCommands():
			names = append(names, leaves(child)...)
		default:
			names = append(names, strings.TrimPrefix(child.CommandPath(), "simplevalidations "))
		}
	}
	slices.Sort(names)
	return names
}
