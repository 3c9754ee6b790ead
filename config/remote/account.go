package remote

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/client"
)

// account is what whoami writes for programs.
type account struct {
	SchemaVersion int       `json:"schema_version"`
	Value         api.Me    `json:"value"`
	Usage         api.Usage `json:"usage"`
}

func whoamiCommand(s Env) *cobra.Command {
	var asJSON bool
	command := calling(s, &cobra.Command{
		Use: "whoami", Short: "Show whose token it is, its role, and the usage of its organization", Args: cobra.NoArgs,
	}, func(ctx context.Context, service *client.Client, _ []string) (account, error) {
		me, err := service.Me(ctx)
		if err != nil {
			return account{}, err
		}
		usage, err := service.Usage(ctx)
		return account{schemaVersion, me, usage}, err
	}, func(cmd *cobra.Command, of account) error {
		if asJSON {
			return writeJSON(cmd, of)
		}
		me, usage := of.Value, of.Usage
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
	})
	command.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return command
}

func limit(n *int64) string {
	if n == nil {
		return "unlimited"
	}
	return strconv.FormatInt(*n, 10)
}
