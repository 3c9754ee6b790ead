package commands

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/users/account"
)

// userFootprint counts what belongs to a user.
type userFootprint struct {
	Memberships, Tokens, Sessions, Invitations int64
	// Factors, Identities, Links and Mails belong to the ways to sign in.
	Factors, Identities, Links, Mails int64
}

func (s *Service) footprint(ctx context.Context, user account.User) (userFootprint, error) {
	var found userFootprint
	err := s.db.Gorm.WithContext(ctx).Raw(`
		SELECT (SELECT count(*) FROM memberships WHERE user_id = @id) AS memberships,
			(SELECT count(*) FROM api_tokens WHERE user_id = @id) AS tokens,
			(SELECT count(*) FROM sessions WHERE user_id = @id) AS sessions,
			(SELECT count(*) FROM invitations WHERE email = @email) AS invitations,
			(SELECT count(*) FROM second_factors WHERE user_id = @id) AS factors,
			(SELECT count(*) FROM identities WHERE user_id = @id) AS identities,
			(SELECT count(*) FROM password_links WHERE user_id = @id) AS links,
			(SELECT count(*) FROM mails WHERE recipient = @email) AS mails`,
		sql.Named("id", user.ID), sql.Named("email", user.Email)).Scan(&found).Error
	if err != nil {
		return userFootprint{}, fmt.Errorf("count what belongs to user %s: %w", user.ID, err)
	}
	return found, nil
}

// userRows are the queries of what is kept about a user, without secrets that would let a reader act as the user.
func userRows() [][2]string {
	return [][2]string{
		{"users", `SELECT id, email, name, password_hash <> '' AS has_password, is_operator, disabled_at, created_at
			FROM users WHERE id = @id`},
		{"memberships", `SELECT o.slug AS organization, m.role, m.created_at
			FROM memberships AS m JOIN organizations AS o ON o.id = m.org_id WHERE m.user_id = @id`},
		{"api_tokens", `SELECT o.slug AS organization, t.id, t.label, t.prefix, t.role, t.created_at, t.expires_at,
				t.revoked_at, t.last_used_at
			FROM api_tokens AS t JOIN organizations AS o ON o.id = t.org_id WHERE t.user_id = @id`},
		{"sessions", `SELECT user_agent, address, created_at, last_used_at, expires_at
			FROM sessions WHERE user_id = @id`},
		{"second_factors", `SELECT created_at, confirmed_at, cardinality(recovery) AS recovery_codes_left
			FROM second_factors WHERE user_id = @id`},
		{"identities", `SELECT issuer, subject, created_at FROM identities WHERE user_id = @id`},
		{"password_links", `SELECT origin, created_at, expires_at FROM password_links WHERE user_id = @id`},
		{"sign_in_steps", `SELECT purpose, expires_at FROM sign_in_steps WHERE user_id = @id`},
		{"mails", `SELECT kind, created_at FROM mails WHERE recipient = @email`},
		{"invitations", `SELECT o.slug AS organization, i.email, i.name, i.role, i.state, i.created_at
			FROM invitations AS i JOIN organizations AS o ON o.id = i.org_id
			WHERE i.email = @email OR i.accepted_by = @id`},
		{"audit_records", `SELECT org_id, id, action, target_type, target_id, request_id, detail, created_at
			FROM audit_records WHERE actor_id = @id OR target_type = 'user' AND target_id = @id
			ORDER BY org_id, id`},
	}
}

// ExportUser writes everything that is kept about a user. It reads all audit records.
func (s *Service) ExportUser(ctx context.Context, user account.User, w io.Writer) error {
	for _, part := range userRows() {
		err := s.stream(ctx, w, `SELECT json_build_object('table', '`+part[0]+`', 'row', row_to_json(r))::text FROM (`+
			part[1]+`) AS r`, sql.Named("id", user.ID), sql.Named("email", user.Email))
		if err != nil {
			return err
		}
	}
	return nil
}

// stream writes the rows of one text each as lines, without keeping them.
func (s *Service) stream(ctx context.Context, w io.Writer, query string, args ...any) error {
	rows, err := s.db.Gorm.WithContext(db.Unlimited(ctx)).Raw(query, args...).Rows()
	if err != nil {
		return fmt.Errorf("export: %w", err)
	}
	defer func() { _ = rows.Close() }() // Its error is that of rows.Err.
	buffered := bufio.NewWriter(w)
	var line sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&line); err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if _, err := fmt.Fprintf(buffered, "%s\n", line); err != nil {
			return fmt.Errorf("write the export: %w", err)
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("write the export: %w", err)
	}
	return nil
}

// auditExport selects audit records.
type auditExport struct {
	// org is nil for all organizations.
	org *uuid.UUID
	// from is the first id: ids begin with their time.
	from          uuid.UUID
	withoutStarts bool
}

func (s *Service) exportAudit(ctx context.Context, filter auditExport, w io.Writer) error {
	condition, args := "a.id >= ?", []any{filter.from}
	if filter.withoutStarts {
		condition += " AND a.action <> 'run.start'"
	}
	if filter.org != nil {
		condition, args = condition+" AND a.org_id = ?", append(args, *filter.org)
	}
	return s.stream(ctx, w, `
		SELECT json_build_object('id', a.id, 'organization', o.slug, 'organization_id', a.org_id,
			'created_at', a.created_at, 'actor', a.actor_id, 'actor_email', u.email, 'token', a.token_id,
			'action', a.action, 'target_type', a.target_type, 'target_id', a.target_id,
			'request_id', nullif(a.request_id, ''), 'detail', a.detail)::text
		FROM audit_records AS a LEFT JOIN organizations AS o ON o.id = a.org_id
		LEFT JOIN users AS u ON u.id = a.actor_id
		WHERE `+condition+` ORDER BY a.org_id, a.id`, args...)
}
