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
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// remoteCommands call a service, and the API records what they ask for. The others need neither a service nor a
// database.
const (
	remoteCommands = `members list, members remove, members set, requests list, run, runs cancel, runs document,
		runs list, runs rerun, runs watch, token create, token list, token revoke, token rotate,
		webhooks delete, webhooks deliveries, webhooks list, webhooks listen, webhooks send, webhooks set, whoami,
		workflows export, workflows import, workflows list`
	loneCommands = `check, config show, idemcheck init, infer, openapi, workflows bundle, workflows lint`
)

// unrecordedCommands are commands that leave no audit record of their own, by the reason.
func unrecordedCommands() map[string]string {
	return map[string]string{
		"they read": `admin runs list, admin runs lost, doctor, idempotency explain, idempotency list,
			org audit, org export, org list, org usage, user export, user list`,
		"they touch no database":                             loneCommands,
		"the API records what they ask for":                  remoteCommands,
		"the settings decide what is deleted, and no person": `admin purge`,
		"TestDeleteOrganization looks for its record":        `org delete`,
		"it needs the archive of another installation":       `org import`,
		"TestMoveBetweenCells looks for its records":         `org move`,
		"they change no organization":                        `migrate up, serve`,
		"TestReseal looks for its records":                   `secrets rotate`,
		"TestRevokeTokenAsOperator looks for its record":     `admin token revoke`,
	}
}

// writingCommands have the arguments of each operator's command that writes, for a run and a key of harbour.
func writingCommands(run, key string) map[string][][]string {
	const org, user = "harbour-energy", "owner@harbour-energy.example"
	return map[string][][]string{
		"org set": {
			{org, "--runs", "10"},
			{org, "--overage"},
			{org, "--key-required", "--key-lifetime", "1h"},
			{org, "--content-retention", "24h", "--findings-retention", "24h"},
			{org, "--tokens", "20"},
			{org, "--suspended", "--reason", "why"},
			{org, "--suspended=false", "--reason", "why"},
		},
		"user set": {
			{"owner@tiny-quota.example", "--org", org, "--role", "viewer"},
			{user, "--operator"},
			{user, "--password-stdin"},
			{user, "--password-link"},
			{user, "--remove-second-factor"},
			{user, "--unlink"},
			{user, "--disabled", "--reason", "why"},
			{user, "--disabled=false", "--reason", "why"},
		},
		"idempotency release": {{key, "--org", org, "--reason", "why"}},
		"org create":          {{"made-by-the-operator"}},
		"user delete":         {{"viewer@harbour-energy.example"}},
		"admin runs requeue":  {{run, "--org", org}},
		"seed":                {{"--demo"}},
		"signing-secret":      {{"--org", org, "--rotate"}, {"--org", org}},
		"admin token create":  {{"--org", org, "--user", user}},
		"user create":         {{"shadow@b.example", "--org", org}},
	}
}

// wantEveryCommand compares commands, and those of lists with the reason of each, with the commands of the program.
func wantEveryCommand[T any](tb testing.TB, commands map[string]T, lists map[string]string) {
	tb.Helper()
	known := slices.Collect(maps.Keys(commands))
	for _, names := range lists {
		for name := range strings.SplitSeq(names, ",") {
			known = append(known, strings.Join(strings.Fields(name), " "))
		}
	}
	slices.Sort(known)
	if diff := cmp.Diff(leaves(cmd.Program{}.Command()), known); diff != "" {
		tb.Errorf("commands (-program +known):\n%s", diff)
	}
}

// TestEveryCommandThatWritesIsAudited runs every command of the operator's that writes.
func TestEveryCommandThatWritesIsAudited(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	run := s.Started(t, s.Start(t, "")).ID
	s.Exec(t, `DELETE FROM staged_jobs`)
	commands := writingCommands(run, s.Abandoned(t, "audited").ID)
	wantEveryCommand(t, commands, unrecordedCommands())
	const records = `SELECT count(*) FROM audit_records WHERE actor_id IS NULL`
	for name, lines := range commands {
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
