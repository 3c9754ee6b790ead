package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core/db"
)

// asked is a person who is invited. Without a role it is the holder of a token who was no member.
type asked struct{ email, name, role string }

// addUser finds the user here by the address, or creates one without a password. The address counts as confirmed only
// if the operator trusts the archive.
func (i *importer) addUser(ctx context.Context, u user) error {
	if i.at > 0 || len(i.rows) > 0 {
		return fmt.Errorf("%w: a user comes after the rows", ErrDamaged)
	}
	if len(i.users) == maxUsers {
		return fmt.Errorf("%w: it has more than %d users", ErrForeign, maxUsers)
	}
	id, isPerson, err := findUser(ctx, i.database, i.header.Organization, u.Email)
	if err != nil {
		return err
	}
	if isPerson && !i.trust {
		i.asked[u.ID] = asked{email: u.Email, name: u.Name}
	}
	if id == uuid.Nil {
		// The id may be that of another person here.
		err = i.database.Pool.QueryRow(ctx, `
			INSERT INTO users (id, email, name, address_confirmed)
			VALUES (CASE WHEN EXISTS (SELECT FROM users WHERE id = $1) THEN gen_random_uuid() ELSE $1 END, $2, $3, $4)
			RETURNING id`, u.ID, u.Email, u.Name, u.Confirmed && i.trust).Scan(&id)
	}
	i.users[u.ID] = id
	return refused("users", err)
}

// findUser finds the user with the address, who is a person unless an interrupted import has made the account and
// nobody has used it.
func findUser(ctx context.Context, database *db.DB, orgID uuid.UUID, email string) (uuid.UUID, bool, error) {
	var id uuid.UUID
	var isPerson bool
	err := database.Pool.QueryRow(ctx, `
		SELECT id, password_hash <> '' OR address_confirmed
			OR EXISTS (SELECT FROM memberships AS m WHERE m.user_id = u.id AND m.org_id <> $2)
		FROM users AS u WHERE email = $1`, email, orgID).Scan(&id, &isPerson)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, false, refused("users", err)
	}
	return id, isPerson, nil
}

// ask notes the role of a person who is invited, and reports whether the row is that of one.
func (i *importer) ask(row []byte) (bool, error) {
	var membership struct {
		UserID uuid.UUID `json:"user_id"`
		Role   string    `json:"role"`
	}
	if err := json.Unmarshal(row, &membership); err != nil {
		return false, fmt.Errorf("%w: a membership cannot be read: %w", ErrDamaged, err)
	}
	person, isAsked := i.asked[membership.UserID]
	if isAsked {
		person.role = membership.Role
		i.asked[membership.UserID] = person
	}
	return isAsked, nil
}
