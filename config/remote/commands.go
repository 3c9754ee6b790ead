// Package remote holds the commands that are clients of the API: they start runs, follow them and show what they found,
// on whatever service SV_URL names. They need no database and no settings of the service.
//
// Standard output is data; what is said besides goes to standard error. A command asks nothing, and it never takes a
// secret as a flag.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// Surroundings are what the commands know of the process.
type Surroundings struct {
	Version string
	// Environ looks a variable of the environment up.
	Environ func(name string) string
	// Checks are what the command doctor checks besides the service.
	Checks func(ctx context.Context) []Check
}

// Commands are the commands of the package but those about runs, which the operator has a part of.
func Commands(s Surroundings) []*cobra.Command {
	return []*cobra.Command{
		runCommand(s), workflowsCommand(s), usageCommand(s), whoamiCommand(s), doctorCommand(s), smokeCommand(s),
		membersCommand(s), auditCommand(s), errorsCommand(),
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

// writeTable writes rows for people. What a service has sent can hold anything, so control characters are taken out.
func writeTable(cmd *cobra.Command, rows ...[]string) error {
	table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	var problems []error
	for _, row := range rows {
		for i, cell := range row {
			end := "\t"
			if i == len(row)-1 {
				end = "\n"
			}
			_, err := fmt.Fprint(table, formats.Clean(cell), end)
			problems = append(problems, err)
		}
	}
	return errors.Join(append(problems, table.Flush())...)
}

func isTerminal(stream io.Writer) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

func misuse(format string, args ...any) error {
	return &core.ExitError{Code: core.ExitUsage, Reason: fmt.Sprintf(format, args...)}
}
