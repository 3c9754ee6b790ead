package remote

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/client"
	"github.com/simplevalidations/simplevalidations/validations/formats"
)

func membersCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "members", Short: "List, invite, change and remove the members of the organization"}
	group.AddCommand(
		listing[client.Member]{
			short: "List the members of the token's organization", read: (*client.Client).Members,
			header: []string{"ID", "ROLE", "EMAIL", "NAME", "SINCE"},
			row: func(m client.Member) []string {
				return []string{m.ID, string(m.Role), m.Email, m.Name, m.CreatedAt.Format(time.RFC3339)}
			},
		}.command(s),
		inviteCommand(s),
		listing[client.Invitation]{
			use:   "invitations",
			short: "List the open invitations of the token's organization", read: (*client.Client).Invitations,
			header: []string{"ID", "STATE", "ROLE", "EMAIL", "NAME", "EXPIRES"},
			row: func(i client.Invitation) []string {
				return []string{
					i.ID, string(i.State), string(i.Role), i.Email, i.Name, i.ExpiresAt.Format(time.RFC3339),
				}
			},
		}.command(s),
		action(s, "link INVITATION", "Make a new link for an invitation, by id or e-mail address, and print it", 1,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				id, err := invitationID(ctx, api, args[0])
				if err != nil {
					return "", err
				}
				linked, err := api.LinkInvitation(ctx, id)
				return linked.Link, err
			}),
		action(s, "revoke INVITATION", "End an invitation, by id or e-mail address, and its link", 1,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				id, err := invitationID(ctx, api, args[0])
				if err != nil {
					return "", err
				}
				return "revoked " + args[0], api.RevokeInvitation(ctx, id)
			}),
		action(s, "leave", "End your own membership in the token's organization", 0,
			func(ctx context.Context, api *client.Client, _ []string) (string, error) {
				return "you are no longer a member", api.Leave(ctx)
			}),
		action(s, "role MEMBER ROLE", "Change the role of a member, by id or e-mail address", 2,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				id, err := memberID(ctx, api, args[0])
				if err != nil {
					return "", err
				}
				changed, err := api.ChangeMember(ctx, id, client.MemberChange{Role: client.Role(args[1])})
				return changed.Email + " is " + string(changed.Role), err
			}),
		action(s, "remove MEMBER", "Remove a member, by id or e-mail address", 1,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				id, err := memberID(ctx, api, args[0])
				if err != nil {
					return "", err
				}
				return "removed " + args[0], api.RemoveMember(ctx, id)
			}),
	)
	return group
}

func inviteCommand(s Env) *cobra.Command {
	var draft client.MemberDraft
	var key string
	command := action(s, "invite EMAIL --role ROLE", "Invite a person to the token's organization", 1,
		func(ctx context.Context, api *client.Client, args []string) (string, error) {
			draft.Email = args[0]
			invited, err := api.InviteMember(ctx, draft, key)
			return invited.ID, err
		})
	flags := command.Flags()
	flags.StringVar((*string)(&draft.Role), "role", "", "owner, admin, author, executor or viewer")
	flags.StringVar(&draft.Name, "name", "", "the person's name until the invitation is accepted")
	flags.StringVar(&key, "key", "", "the idempotency key (default: generated)")
	_ = command.MarkFlagRequired("role") // The flag is there: it was defined above.
	formats.CompleteFlag(command, "role", core.Roles()...)
	return command
}

// invitationsCommand is about the caller's own invitations.
func invitationsCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "invitations", Short: "List, accept and decline your own invitations"}
	group.AddCommand(
		listing[client.Invitation]{
			short: "List the invitations of the token's user", read: (*client.Client).OwnInvitations,
			header: []string{"ID", "ORGANIZATION", "ROLE", "EXPIRES"},
			row: func(i client.Invitation) []string {
				return []string{i.ID, i.Org.Slug, string(i.Role), i.ExpiresAt.Format(time.RFC3339)}
			},
		}.command(s),
		action(s, "accept ID", "Become a member of the organization that sent the invitation", 1,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				accepted, err := api.AcceptInvitation(ctx, args[0])
				return "you are " + string(accepted.Role) + " of " + accepted.Org.Slug, err
			}),
		action(s, "decline ID", "End an invitation", 1,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				return "declined " + args[0], api.DeclineInvitation(ctx, args[0])
			}),
	)
	return group
}

// invitationID finds the id of an open invitation that is named by an e-mail address.
func invitationID(ctx context.Context, api *client.Client, name string) (string, error) {
	if !strings.Contains(name, "@") {
		return name, nil
	}
	for open, err := range api.Invitations().All(ctx) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(open.Email, name) {
			return open.ID, nil
		}
	}
	return "", misuse("no open invitation is for the e-mail address %s", name)
}

// memberID finds the id of a member who is named by an e-mail address.
func memberID(ctx context.Context, api *client.Client, name string) (string, error) {
	if !strings.Contains(name, "@") {
		return name, nil
	}
	for member, err := range api.Members().All(ctx) {
		if err != nil {
			return "", err
		}
		if strings.EqualFold(member.Email, name) {
			return member.ID, nil
		}
	}
	return "", misuse("no member has the e-mail address %s", name)
}

func auditCommand(s Env) *cobra.Command {
	group := &cobra.Command{Use: "audit", Short: "Read the audit log of the organization"}
	group.AddCommand(listing[client.AuditRecord]{
		short: "List the audit log of the token's organization, newest first",
		read: func(api *client.Client) client.Pages[client.AuditRecord] {
			return api.AuditRecords(client.AuditRecordFilter{})
		},
		header: []string{"AT", "ACTION", "TARGET", "ACTOR", "REQUEST", "DETAIL"},
		row: func(r client.AuditRecord) []string {
			return []string{
				r.CreatedAt.Format(time.RFC3339), r.Action, r.TargetType + " " + r.TargetID,
				first(r.ActorEmail, "the operator"), string(r.RequestID), r.Detail,
			}
		},
	}.command(s))
	return group
}
