// Package remote holds the commands that are clients of the API: they start runs, follow them and show what they found,
// on whatever service SV_URL names. They need no database and no settings of the service.
//
// Standard output is data; what is said besides goes to standard error. A command asks nothing, and it never takes a
// secret as a flag.
package remote

import (
	"context"
	"encoding/json"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/core/cli"
)

// Env is what the commands know of the process.
type Env struct {
	cli.Env
	// Checks are what the command doctor checks besides the service.
	Checks func(ctx context.Context) []health.Check
}

// Commands are the commands of the package.
func Commands(s Env) []*cobra.Command {
	return []*cobra.Command{
		runCommand(s), runsCommand(s), workflowsCommand(s), tokenCommand(s), whoamiCommand(s), doctorCommand(s),
		membersCommand(s), requestsCommand(s), webhooksCommand(s),
	}
}

// schemaVersion is that of what commands write as JSON.
const schemaVersion = 1

// writeJSON writes a value for programs.
func writeJSON(cmd *cobra.Command, value any) error {
	encoder := json.NewEncoder(cmd.OutOrStdout())
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

func misuse(format string, args ...any) error {
	return cli.Misuse(format, args...)
}
