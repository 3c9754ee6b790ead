package remote

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

// defaultOverlap is how long a rotated token works on unless --overlap says otherwise.
const defaultOverlap = 24 * time.Hour

func tokenCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "token", Short: "Create, list, rotate and revoke API tokens"}
	group.AddCommand(createTokenCommand(s), listTokensCommand(s), rotateTokenCommand(s), revokeTokenCommand(s))
	return group
}

// createTokenCommand makes a token of the caller.
func createTokenCommand(s Env) *cobra.Command {
	var draft api.TokenDraft
	var validFor time.Duration
	command := action(s, "create", "Create an API token and print its secret once", 0,
		func(ctx context.Context, service *client.Client, _ []string) (string, error) {
			draft.ValidForMS = validFor.Milliseconds()
			made, err := service.CreateToken(ctx, draft)
			return made.Secret, err
		})
	command.Flags().StringVar(&draft.Label, "label", "command line", "the label of the token")
	command.Flags().StringVar((*string)(&draft.Role), "role", "executor", "the highest role of the token")
	formats.CompleteFlag(command, "role", api.Roles()...)
	command.Flags().DurationVar(&validFor, "valid-for", 0, "the token's lifetime, like 720h (default: no expiry)")
	return command
}

func listTokensCommand(s Env) *cobra.Command {
	return listing[api.Token]{
		short:  "List the tokens of the caller, or of all members for admins",
		read:   func(service *client.Client) client.Pages[api.Token] { return service.Tokens(client.TokenFilter{}) },
		header: []string{"ID", "PREFIX", "STATE", "ROLE", "USER", "LABEL"},
		row: func(t api.Token) []string {
			return []string{t.ID, t.Prefix, string(t.State), string(t.Role), t.Email, t.Label}
		},
	}.command(s)
}

func rotateTokenCommand(s Env) *cobra.Command {
	var overlap time.Duration
	command := action(s, "rotate TOKEN",
		"Replace a token, by id, and print the secret of the new one once", 1,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			made, err := service.RotateToken(ctx, args[0], api.TokenRotation{OverlapMS: new(overlap.Milliseconds())})
			return made.Secret, err
		})
	command.Flags().DurationVar(&overlap, "overlap", defaultOverlap, "how long the old token stays valid, at most 168h")
	return command
}

func revokeTokenCommand(s Env) *cobra.Command {
	return action(s, "revoke TOKEN", "Revoke a token, by id", 1,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			return "revoked " + args[0], service.RevokeToken(ctx, args[0])
		})
}
