package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// Members iterates over the members of the organization.
func (c *Client) Members(ctx context.Context) iter.Seq2[Member, error] {
	return list[Member](ctx, c, "/api/members/", url.Values{})
}

// InviteMember invites a person to the organization, who becomes a member by accepting. Without a key the client makes
// one.
func (c *Client) InviteMember(ctx context.Context, draft MemberDraft, key string) (Invitation, error) {
	key, err := c.keyFor(key)
	if err != nil {
		return Invitation{}, err
	}
	content, err := json.Marshal(draft)
	if err != nil {
		return Invitation{}, fmt.Errorf("write the member: %w", err)
	}
	invited, _, err := call[Invitation](ctx, c, request{
		method: http.MethodPost, path: "/api/members/", key: key, creates: true,
		header: http.Header{"Content-Type": {"application/json"}}, body: bytesBody(content),
	})
	return invited, err
}

// Invitations iterates over the open invitations of the organization.
func (c *Client) Invitations(ctx context.Context) iter.Seq2[Invitation, error] {
	return list[Invitation](ctx, c, "/api/members/invitations/", url.Values{})
}

// LinkInvitation makes a new link for an open invitation. The link is shown only in this answer, and the previous link
// stops working.
func (c *Client) LinkInvitation(ctx context.Context, id string) (InvitationLink, error) {
	linked, _, err := call[InvitationLink](ctx, c, request{
		method: http.MethodPost, path: "/api/members/invitations/" + url.PathEscape(id) + "/link/",
	})
	return linked, err
}

// RevokeInvitation ends an open invitation and its link. Repeating it is not an error.
func (c *Client) RevokeInvitation(ctx context.Context, id string) error {
	path := "/api/members/invitations/" + url.PathEscape(id) + "/"
	_, err := c.send(ctx, request{method: http.MethodDelete, path: path})
	return err
}

// OwnInvitations iterates over the caller's own invitations, of all organizations.
func (c *Client) OwnInvitations(ctx context.Context) iter.Seq2[Invitation, error] {
	return list[Invitation](ctx, c, "/api/invitations/", url.Values{})
}

// AcceptInvitation makes the caller a member of the organization that invites. Repeating it changes nothing.
func (c *Client) AcceptInvitation(ctx context.Context, id string) (Invitation, error) {
	path := "/api/invitations/" + url.PathEscape(id) + "/accept/"
	accepted, _, err := call[Invitation](ctx, c, request{method: http.MethodPost, path: path})
	return accepted, err
}

// DeclineInvitation ends an invitation of the caller's.
func (c *Client) DeclineInvitation(ctx context.Context, id string) error {
	path := "/api/invitations/" + url.PathEscape(id) + "/decline/"
	_, err := c.send(ctx, request{method: http.MethodPost, path: path})
	return err
}

// Leave ends the membership of the caller in the organization.
func (c *Client) Leave(ctx context.Context) error {
	_, err := c.send(ctx, request{method: http.MethodDelete, path: memberPath("me")})
	return err
}

// ChangeMember gives a member another role. Repeating it changes nothing.
func (c *Client) ChangeMember(ctx context.Context, id string, change MemberChange) (Member, error) {
	content, err := json.Marshal(change)
	if err != nil {
		return Member{}, fmt.Errorf("write the change: %w", err)
	}
	changed, _, err := call[Member](ctx, c, request{
		method: http.MethodPatch, path: memberPath(id),
		header: http.Header{"Content-Type": {"application/json"}}, body: bytesBody(content),
	})
	return changed, err
}

// RemoveMember ends a membership. Repeating it is not an error.
func (c *Client) RemoveMember(ctx context.Context, id string) error {
	_, err := c.send(ctx, request{method: http.MethodDelete, path: memberPath(id)})
	return err
}

// AuditRecords iterates over the audit log of the organization, newest first.
func (c *Client) AuditRecords(ctx context.Context) iter.Seq2[AuditRecord, error] {
	return list[AuditRecord](ctx, c, "/api/audit/", url.Values{})
}

func memberPath(id string) string {
	return "/api/members/" + url.PathEscape(id) + "/"
}
