package remote

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// account is what an account's commands write for programs.
type account[T any] struct {
	SchemaVersion int `json:"schema_version"`
	Value         T   `json:"value"`
}

// accountCommand is a command that reads one thing and shows it as a table or as JSON.
func accountCommand[T any](
	s Env, name, short string, read func(*cobra.Command, *client.Client) (T, error), rows func(T) [][]string,
) *cobra.Command {
	c := connection{Env: s}
	var asJSON bool
	command := &cobra.Command{
		Use: name, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.authorized()
			if err != nil {
				return err
			}
			value, err := read(cmd, api)
			if err != nil {
				return failure(cmd.Context(), err)
			}
			if asJSON {
				return writeJSON(cmd, account[T]{schemaVersion, value})
			}
			return cli.WriteTable(cmd.OutOrStdout(), rows(value)...)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.bind(command)
	return command
}

func usageCommand(s Env) *cobra.Command {
	return accountCommand(s, "usage", "Show how many runs the organization has used this month",
		func(cmd *cobra.Command, api *client.Client) (client.Usage, error) { return api.Usage(cmd.Context()) },
		func(u client.Usage) [][]string {
			return [][]string{
				{"period", u.Period},
				{"used", strconv.Itoa(u.Used)},
				{"quota", limit(u.Quota)},
				{"remaining", limit(u.Remaining)},
				{"resets", u.ResetsAt.Format(time.RFC3339)},
			}
		})
}

func limit(n *int64) string {
	if n == nil {
		return "unlimited"
	}
	return strconv.FormatInt(*n, 10)
}

func whoamiCommand(s Env) *cobra.Command {
	return accountCommand(s, "whoami", "Show the user, organization and role of the token",
		func(cmd *cobra.Command, api *client.Client) (client.Me, error) { return api.Me(cmd.Context()) },
		func(me client.Me) [][]string {
			return [][]string{
				{"user", me.Email},
				{"name", me.Name},
				{"organization", me.Org.Slug},
				{"role", string(me.Role)},
			}
		})
}
