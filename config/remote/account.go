package remote

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
)

// account is what whoami writes for programs.
type account struct {
	SchemaVersion int       `json:"schema_version"`
	Value         api.Me    `json:"value"`
	Usage         api.Usage `json:"usage"`
}

func whoamiCommand(s Env) *cobra.Command {
	c := connection{Env: s}
	var asJSON bool
	command := &cobra.Command{
		Use: "whoami", Short: "Show whose token it is, its role, and the usage of its organization", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			service, err := c.authorized()
			if err != nil {
				return err
			}
			me, err := service.Me(cmd.Context())
			if err != nil {
				return failure(cmd.Context(), err)
			}
			usage, err := service.Usage(cmd.Context())
			if err != nil {
				return failure(cmd.Context(), err)
			}
			if asJSON {
				return writeJSON(cmd, account{schemaVersion, me, usage})
			}
			return cli.WriteTable(cmd.OutOrStdout(), [][]string{
				{"user", me.Email},
				{"name", me.Name},
				{"organization", me.Org.Slug},
				{"role", string(me.Role)},
				{"period", usage.Period},
				{"used", strconv.Itoa(usage.Used)},
				{"quota", limit(usage.Quota)},
				{"remaining", limit(usage.Remaining)},
				{"resets", usage.ResetsAt.Format(time.RFC3339)},
			}...)
		},
	}
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	c.bind(command)
	return command
}

func limit(n *int64) string {
	if n == nil {
		return "unlimited"
	}
	return strconv.FormatInt(*n, 10)
}
