package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
)

// Members goes through the members of the organization.
func (c *Client) Members(ctx context.Context) iter.Seq2[Member, error] {
	return list[Member](ctx, c, "/api/members/", url.Values{})
}

// AddMember makes somebody a member. Without a key the client makes one.
func (c *Client) AddMember(ctx context.Context, draft MemberDraft, key string) (Member, error) {
	key, err := c.keyFor(key)
	if err != nil {
		return Member{}, err
	}
	content, err := json.Marshal(draft)
	if err != nil {
		return Member{}, fmt.Errorf("write the member: %w", err)
	}
	added, _, err := call[Member](ctx, c, request{
		method: http.MethodPost, path: "/api/members/", key: key, creates: true,
		header: http.Header{"Content-Type": {"application/json"}}, body: bytesBody(content),
	})
	return added, err
}

// ChangeMember gives a member another role. To repeat it changes nothing.
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

// RemoveMember ends a membership. To repeat it is no error.
func (c *Client) RemoveMember(ctx context.Context, id string) error {
	_, err := c.send(ctx, request{method: http.MethodDelete, path: memberPath(id)})
	return err
}

// AuditRecords goes through what was done in the organization, newest first.
func (c *Client) AuditRecords(ctx context.Context) iter.Seq2[AuditRecord, error] {
	return list[AuditRecord](ctx, c, "/api/audit/", url.Values{})
}

func memberPath(id string) string {
	return "/api/members/" + url.PathEscape(id) + "/"
}
