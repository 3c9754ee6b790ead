package client

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"
)

// Health is what a process of the service says of itself.
type Health struct {
	Readiness
	// At is the time of the answer's Date header, to the second; the zero time if it has none.
	At time.Time
}

// Me reads the user, the organization and the role of the token.
func (c *Client) Me(ctx context.Context) (Me, error) {
	return get[Me](ctx, c, "/api/me/")
}

// Organization reads the settings of the organization.
func (c *Client) Organization(ctx context.Context) (OrganizationSettings, error) {
	return get[OrganizationSettings](ctx, c, "/api/organization/")
}

// ChangeOrganization changes settings of the organization. Repeating it changes nothing.
func (c *Client) ChangeOrganization(ctx context.Context, change OrganizationChange) (OrganizationSettings, error) {
	content, err := json.Marshal(change)
	if err != nil {
		return OrganizationSettings{}, fmt.Errorf("write the change: %w", err)
	}
	changed, _, err := call[OrganizationSettings](ctx, c, request{
		method: http.MethodPatch, path: "/api/organization/",
		header: http.Header{"Content-Type": {"application/json"}}, body: bytesBody(content),
	})
	return changed, err
}

// Usage reads how many runs the organization has used this month.
func (c *Client) Usage(ctx context.Context) (Usage, error) {
	return get[Usage](ctx, c, "/api/usage/")
}

// Tokens iterates over the tokens of the caller, newest first; for admins over those of all members.
func (c *Client) Tokens(ctx context.Context) iter.Seq2[Token, error] {
	return list[Token](ctx, c, "/api/tokens/", url.Values{})
}

// CreateToken makes a token. It takes no idempotency key, because its answer must not be stored: if the answer is lost,
// the error is an *UnknownOutcomeError, and a token may exist whose secret is unknown. Revoke it.
func (c *Client) CreateToken(ctx context.Context, draft TokenDraft) (TokenSecret, error) {
	content, err := json.Marshal(draft)
	if err != nil {
		return TokenSecret{}, fmt.Errorf("write the token: %w", err)
	}
	made, _, err := call[TokenSecret](ctx, c, request{
		method: http.MethodPost, path: "/api/tokens/", creates: true,
		header: http.Header{"Content-Type": {"application/json"}}, body: bytesBody(content),
	})
	return made, err
}

// RotateToken replaces a token, which keeps working for the overlap: at most 7 days, 0 for none. As with CreateToken, a
// lost answer is an *UnknownOutcomeError: the old token may then work only until the overlap is over, and cannot be
// rotated again.
func (c *Client) RotateToken(ctx context.Context, id string, rotation TokenRotation) (TokenSecret, error) {
	content, err := json.Marshal(rotation)
	if err != nil {
		return TokenSecret{}, fmt.Errorf("write the rotation: %w", err)
	}
	made, _, err := call[TokenSecret](ctx, c, request{
		method: http.MethodPost, path: "/api/tokens/" + url.PathEscape(id) + "/rotate/", creates: true,
		header: http.Header{"Content-Type": {"application/json"}}, body: bytesBody(content),
	})
	return made, err
}

// RevokeToken ends a token permanently. Repeating it is not an error.
func (c *Client) RevokeToken(ctx context.Context, id string) error {
	_, err := c.send(ctx, request{method: http.MethodDelete, path: "/api/tokens/" + url.PathEscape(id) + "/"})
	return err
}

// Health asks once, without retries, whether the service can do its work. A service that cannot is an answer and not an
// error.
func (c *Client) Health(ctx context.Context) (Health, error) {
	ctx, cancel := context.WithTimeout(ctx, c.retries.Attempt)
	defer cancel()
	got, err := c.exchange(ctx, request{method: http.MethodGet, path: "/readyz/"})
	if err != nil {
		return Health{}, &UnreachableError{Attempts: 1, Err: err}
	}
	var health Health
	if err := json.Unmarshal(got.body, &health.Readiness); err != nil {
		return health, notUnderstood(err)
	}
	if at, err := http.ParseTime(got.header.Get("Date")); err == nil {
		health.At = at
	}
	return health, nil
}
