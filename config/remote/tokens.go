package remote

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/client"
)

// TokenCommands are the commands about tokens but their creation.
func TokenCommands(s Surroundings) []*cobra.Command {
	return []*cobra.Command{listTokensCommand(s), revokeTokenCommand(s)}
}

// CreateTokenCommand makes a token of the caller through the API.
func CreateTokenCommand(s Surroundings) *cobra.Command {
	c := connection{Surroundings: s}
	var draft client.TokenDraft
	var validFor time.Duration
	command := &cobra.Command{
		Use: "create", Short: "Create an API token and print its secret, once", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.authorized()
			if err != nil {
				return err
			}
			draft.ValidForMS = validFor.Milliseconds()
			made, err := api.CreateToken(cmd.Context(), draft)
			if err != nil {
				return failure(cmd.Context(), err)
			}
			return writeTable(cmd, []string{made.Secret})
		},
	}
	command.Flags().StringVar(&draft.Label, "label", "command line", "what the token is for")
	command.Flags().StringVar(&draft.Role, "role", "executor", "the most that the token may do")
	command.Flags().DurationVar(&validFor, "valid-for", 0, "the token's life, for example 720h (default: for ever)")
	c.bind(command)
	return command
}

func listTokensCommand(s Surroundings) *cobra.Command {
	c := connection{Surroundings: s}
	command := &cobra.Command{
		Use: "list", Short: "List the tokens of the caller, or of all members for admins", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.authorized()
			if err != nil {
				return err
			}
			rows := [][]string{{"ID", "PREFIX", "STATE", "ROLE", "USER", "LABEL"}}
			for token, err := range api.Tokens(cmd.Context()) {
				if err != nil {
					return failure(cmd.Context(), err)
				}
				rows = append(rows, []string{token.ID, token.Prefix, token.State, token.Role, token.Email, token.Label})
			}
			return writeTable(cmd, rows...)
		},
	}
	c.bind(command)
	return command
}

func revokeTokenCommand(s Surroundings) *cobra.Command {
	c := connection{Surroundings: s}
	command := &cobra.Command{
		Use: "revoke TOKEN", Short: "End a token, named by its id, for good", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.authorized()
			if err != nil {
				return err
			}
			if err := api.RevokeToken(cmd.Context(), args[0]); err != nil {
				return failure(cmd.Context(), err)
			}
			return writeTable(cmd, []string{"revoked " + args[0]})
		},
	}
	c.bind(command)
	return command
}
