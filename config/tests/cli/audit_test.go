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
			idempotency explain, idempotency list, idempotency show, infer, migrate plan,
			openapi, org audit, org export, org list, org usage, signing-secret show, user export,
			user list, version, workflows bundle, workflows lint`,
		"the API records what they ask for": `members list, members remove, members set, requests list, run,
			runs cancel, runs document, runs list, runs rerun, runs watch, token create, token list,
			token revoke, token rotate, whoami, workflows export, workflows import, workflows list`,
		"the settings decide what is deleted, and no person": `admin purge`,
		"TestDeleteOrganization looks for its record":        `org delete`,
		"it needs the archive of another installation":       `org import`,
		"they change no organization":                        `migrate up, serve`,
		"TestReseal looks for its records":                   `secrets rotate`,
		"TestRevokeTokenAsOperator looks for its record":     `admin token revoke`,
	}
}

// TestEveryCommandThatWritesIsAudited runs every command of the operator's that writes.
func TestEveryCommandThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "")).ID
	s.Exec(t, `DELETE FROM staged_jobs`)
	key := s.Abandoned(t, "audited").ID
	const org, user = "harbour-energy", "owner@harbour-energy.example"
	settings := map[string][][]string{
		"org set": {
			{org, "--runs", "10"},
			{org, "--overage"},
			{org, "--key-required", "--key-lifetime", "1h"},
			{org, "--content-retention", "24h", "--findings-retention", "24h"},
			{org, "--tokens", "20"},
		},
		"user set": {
			{"owner@tiny-quota.example", "--org", org, "--role", "viewer"},
			{user, "--operator"},
			{user, "--password-stdin"},
			{user, "--password-link"},
			{user, "--remove-second-factor"},
			{user, "--unlink"},
		},
	}
	actions := map[string][]string{
		"idempotency release":   {key, "--org", org, "--reason", "why"},
		"org create":            {"made-by-the-operator"},
		"org suspend":           {org, "--reason", "why"},
		"org resume":            {org, "--reason", "why"},
		"user delete":           {"viewer@harbour-energy.example"},
		"admin runs requeue":    {run, "--org", org},
		"seed":                  {"--demo"},
		"signing-secret rotate": {"--org", org},
		"admin token create":    {"--org", org, "--user", user},
		"user create":           {"shadow@b.example", "--org", org},
		"user disable":          {user, "--reason", "why"},
		"user enable":           {user, "--reason", "why"},
	}
	known := slices.AppendSeq(slices.Collect(maps.Keys(actions)), maps.Keys(settings))
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
		settings[name] = append(settings[name], args)
	}
	for name, lines := range settings {
		for _, args := range lines {
			before := coretest.One[int64](t, s.DB, records)
			var complaint bytes.Buffer
			code := cmd.Program{
				Environ: s.Console(t).Environ, Stdin: strings.NewReader("a long new password\n"),
				Stdout: &bytes.Buffer{}, Stderr: &complaint,
			}.Run(t.Context(), append(strings.Fields(name), args...))
			if code != 0 {
				t.Errorf("%s %v = %d, want 0: %s", name, args, code, complaint.String())
				continue
			}
			if coretest.One[int64](t, s.DB, records) == before {
				t.Errorf("%s %v left no audit record", name, args)
			}
		}
	}
}

// leaves are the names of the commands that do something, in their order.
func leaves(root *cobra.Command) []string {
	var names []string
	for _, command := range endings(root) {
		names = append(names, strings.TrimPrefix(command.CommandPath(), "simplevalidations "))
	}
	slices.Sort(names)
	return names
}
