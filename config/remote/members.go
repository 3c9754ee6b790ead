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
	group := &cobra.Command{Use: "members", Short: "List, add, change and remove the members of the organization"}
	group.AddCommand(
		listing[client.Member]{
			short: "List the members of the token's organization", read: (*client.Client).Members,
			header: []string{"ID", "ROLE", "EMAIL", "NAME", "SINCE"},
			row: func(m client.Member) []string {
				return []string{m.ID, m.Role, m.Email, m.Name, m.CreatedAt.Format(time.RFC3339)}
			},
		}.command(s),
		addMemberCommand(s),
		deed(s, "role MEMBER ROLE", "Change the role of a member, named by id or e-mail address", 2,
			func(ctx context.Context, api *client.Client, args []string) (string, error) {
				id, err := memberID(ctx, api, args[0])
				if err != nil {
					return "", err
				}
				changed, err := api.ChangeMember(ctx, id, client.MemberChange{Role: args[1]})
				return changed.Email + " is " + changed.Role, err
			}),
		deed(s, "remove MEMBER", "End the membership of somebody, named by id or e-mail address", 1,
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

func addMemberCommand(s Env) *cobra.Command {
	var draft client.MemberDraft
	var key string
	command := deed(s, "add EMAIL --role ROLE", "Make somebody a member of the token's organization", 1,
		func(ctx context.Context, api *client.Client, args []string) (string, error) {
			draft.Email = args[0]
			added, err := api.AddMember(ctx, draft, key)
			return added.ID, err
		})
	flags := command.Flags()
	flags.StringVar(&draft.Role, "role", "", "owner, admin, author, executor or viewer")
	flags.StringVar(&draft.Name, "name", "", "the name of a user who is new")
	flags.StringVar(&key, "key", "", "the idempotency key (default: one is made)")
	_ = command.MarkFlagRequired("role") // The flag is there: it was defined above.
	formats.CompleteFlag(command, "role", core.Roles()...)
	return command
}

// memberID finds the id of a member who is named by an e-mail address.
func memberID(ctx context.Context, api *client.Client, name string) (string, error) {
	if !strings.Contains(name, "@") {
		return name, nil
	}
	for member, err := range api.Members(ctx) {
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
	group := &cobra.Command{Use: "audit", Short: "Look at what was done in the organization, and by whom"}
	group.AddCommand(listing[client.AuditRecord]{
		short: "List what was done in the token's organization, newest first", read: (*client.Client).AuditRecords,
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
