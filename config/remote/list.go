package remote

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// listing is a command that lists things of one kind.
type listing[T any] struct {
	// use is the command's name, "list" where it is empty.
	use    string
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
	c := connection{Env: s}
	var limit int
	var asJSON bool
	command := &cobra.Command{
		Use: first(l.use, "list"), Short: l.short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return misuse("--limit is 0 or more; 0 lists all")
			}
			service, err := c.authorized()
			if err != nil {
				return err
			}
			results := []T{}
			for result, err := range l.read(service).All(cmd.Context()) {
				if err != nil {
					return failure(cmd.Context(), err)
				}
				if limit > 0 && len(results) == limit {
					cmd.PrintErrf("there are more than these %d; --limit 0 lists all\n", limit)
					break
				}
				results = append(results, result)
			}
			if asJSON {
				return writeJSON(cmd, listed[T]{schemaVersion, results})
			}
			rows := [][]string{l.header}
			for _, result := range results {
				rows = append(rows, l.row(result))
			}
			return cli.WriteTable(cmd.OutOrStdout(), rows...)
		},
	}
	command.Flags().IntVar(&limit, "limit", listLimit, "maximum number, 0 for all")
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.bind(command)
	return command
}

// action is a command that changes what its arguments name, and prints a confirmation.
func action(
	s Env, use, short string, arguments int,
	do func(ctx context.Context, service *client.Client, args []string) (string, error),
) *cobra.Command {
	c := connection{Env: s}
	command := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(arguments),
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := c.authorized()
			if err != nil {
				return err
			}
			done, err := do(cmd.Context(), service, args)
			if err != nil {
				return failure(cmd.Context(), err)
			}
			return cli.WriteTable(cmd.OutOrStdout(), []string{done})
		},
	}
	c.bind(command)
	return command
}
