package remote

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/client"
)

func membersCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "members", Short: "List, invite, change and remove the members of the organization"}
	group.AddCommand(
		listing[api.Member]{
			short: "List the members of the token's organization", read: (*client.Client).Members,
			header: []string{"ID", "ROLE", "EMAIL", "NAME", "SINCE"},
			row: func(m api.Member) []string {
				return []string{m.ID, string(m.Role), m.Email, m.Name, m.CreatedAt.Format(time.RFC3339)}
			},
		}.command(s),
		setMemberCommand(s),
		action(s, "remove MEMBER",
			"Remove a member, by id or e-mail address, or end an invitation, by e-mail address", 1, removeMember),
	)
	return group
}

func setMemberCommand(s Env) *cobra.Command {
	var name, key string
	command := action(s, "set MEMBER ROLE",
		"Change the role of a member, by id or e-mail address, or invite who is none, by e-mail address", 2,
		func(ctx context.Context, service *client.Client, args []string) (string, error) {
			id, err := memberID(ctx, service, args[0])
			if err != nil {
				return "", err
			}
			role := api.Role(args[1])
			if id != "" {
				changed, err := service.ChangeMember(ctx, id, api.MemberChange{Role: role})
				return changed.Email + " is " + string(changed.Role), err
			}
			invited, err := service.InviteMember(ctx, api.MemberDraft{Email: args[0], Name: name, Role: role}, key)
			return invited.Email + " is invited as " + string(invited.Role), err
		})
	command.Flags().StringVar(&name, "name", "", "the name of an invited person until the invitation is accepted")
	command.Flags().StringVar(&key, "key", "", "the idempotency key of an invitation (default: generated)")
	command.ValidArgsFunction = completeRole
	return command
}

// completeRole completes the second argument.
func completeRole(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var roles []cobra.Completion
	for _, role := range api.Roles() {
		roles = append(roles, string(role))
	}
	return roles, cobra.ShellCompDirectiveNoFileComp
}

func removeMember(ctx context.Context, service *client.Client, args []string) (string, error) {
	id, err := memberID(ctx, service, args[0])
	if err != nil {
		return "", err
	}
	if id != "" {
		return "removed " + args[0], service.RemoveMember(ctx, id)
	}
	for open, err := range service.Invitations().All(ctx) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(open.Email, args[0]) {
			return "ended the invitation of " + args[0], service.RevokeInvitation(ctx, open.ID)
		}
	}
	return "", misuse("no member and no open invitation has the e-mail address %s", args[0])
}

// memberID returns the id of a member who is named by an e-mail address, or nothing if nobody has it.
func memberID(ctx context.Context, service *client.Client, name string) (string, error) {
	if !strings.Contains(name, "@") {
		return name, nil
	}
	for member, err := range service.Members().All(ctx) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(member.Email, name) {
			return member.ID, nil
		}
	}
	return "", nil
}
