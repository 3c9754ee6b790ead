package remote

import (
	"context"
	"os"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// listing is a command "list" of things of one kind.
type listing[T any] struct {
	short  string
	header []string
	read   func(*client.Client) client.Pages[T]
	row    func(T) []string
}

// listed is the JSON output of the command: its member has the name that the API uses.
type listed[T any] struct {
	SchemaVersion int `json:"schema_version"`
	Results       []T `json:"results"`
}

// listLimit is how much is listed unless --limit says otherwise.
const listLimit = 50

func (l listing[T]) command(s Env) *cobra.Command {
	var limit int
	var asJSON, more bool
	command := calling(s, &cobra.Command{Use: "list", Short: l.short, Args: cobra.NoArgs},
		func(ctx context.Context, service *client.Client, _ []string) ([]T, error) {
			if limit < 0 {
				return nil, misuse("--limit is 0 or more; 0 lists all")
			}
			results := []T{}
			for result, err := range l.read(service).All(ctx) {
				if err != nil {
					return nil, err
				}
				if more = limit > 0 && len(results) == limit; more {
					break
				}
				results = append(results, result)
			}
			return results, nil
		},
		func(cmd *cobra.Command, results []T) error {
			if more {
				cmd.PrintErrf("there are more than these %d; --limit 0 lists all\n", limit)
			}
			if asJSON {
				return writeJSON(cmd, listed[T]{schemaVersion, results})
			}
			rows := [][]string{l.header}
			for _, result := range results {
				rows = append(rows, l.row(result))
			}
			return cli.WriteTable(cmd.OutOrStdout(), rows...)
		})
	command.Flags().IntVar(&limit, "limit", listLimit, "maximum number, 0 for all")
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return command
}

// action is a command that changes what its arguments name, and prints a confirmation.
func action(
	s Env, use, short string, arguments int,
	do func(ctx context.Context, service *client.Client, args []string) (string, error),
) *cobra.Command {
	return calling(s, &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(arguments)}, do,
		func(cmd *cobra.Command, done string) error { return cli.WriteTable(cmd.OutOrStdout(), []string{done}) })
}

// calling makes a command ask the service with the caller's token, and show what it has answered. Errors of the service
// get their exit codes.
func calling[T any](
	s Env, command *cobra.Command, ask func(ctx context.Context, service *client.Client, args []string) (T, error),
	show func(cmd *cobra.Command, answer T) error,
) *cobra.Command {
	c := connection{Env: s}
	c.bind(command)
	command.RunE = func(cmd *cobra.Command, args []string) error {
		service, err := c.authorized()
		if err != nil {
			return err
		}
		answer, err := ask(cmd.Context(), service, args)
		if err != nil {
			return failure(cmd.Context(), err)
		}
		return show(cmd, answer)
	}
	return command
}

// writeFile writes to the file of --output, or to standard output where none is named.
func writeFile(cmd *cobra.Command, name string, content []byte, mode os.FileMode) error {
	if name != "" {
		return os.WriteFile(name, content, mode)
	}
	_, err := cmd.OutOrStdout().Write(content)
	return err
}
