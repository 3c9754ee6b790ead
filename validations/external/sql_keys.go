package external

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// A sealed key is bound to its column, so that a previous key cannot be put back as the current one.
const (
	columnCurrent  = "signing_keys.sealed"
	columnPrevious = "signing_keys.sealed_previous"
)

// sealedKeys is a row of signing_keys. Both are encrypted under the same key of the installation; previous is nil when
// there is none.
type sealedKeys struct {
	orgID             uuid.UUID
	current, previous []byte
}

// find returns the organization's keys. The first call creates the current one.
func (k *Keys) find(ctx context.Context, orgID uuid.UUID) (pair, error) {
	row, err := findKeys(ctx, k.db.Pool, orgID)
	if errors.Is(err, pgx.ErrNoRows) {
		if err := k.createKey(ctx, k.db.Pool, orgID); err != nil {
			return pair{}, err
		}
		row, err = findKeys(ctx, k.db.Pool, orgID)
	}
	if err != nil {
		return pair{}, err
	}
	return k.open(row)
}

// audited is find for a reader of the secrets that are derived from the keys. The audit record commits before they are
// returned.
func (k *Keys) audited(ctx context.Context, reader core.Principal, origins []string) (pair, error) {
	row, err := db.InTx(ctx, k.db, func(tx db.Tx) (sealedKeys, error) {
		if err := k.createKey(ctx, tx, reader.OrgID); err != nil {
			return sealedKeys{}, err
		}
		err := core.AuditBy(ctx, tx, reader, core.AuditRecord{
			Action: "signing_secret.read", TargetType: "organization", TargetID: reader.OrgID.String(),
			Detail: strings.Join(origins, " "),
		})
		if err != nil {
			return sealedKeys{}, err
		}
		return findKeys(ctx, tx, reader.OrgID)
	})
	if err != nil {
		return pair{}, err
	}
	return k.open(row)
}

// Rotate creates a new key for the organization, and with it new secrets of all its validators. For 24 hours,
// calls are signed with the previous secrets as well, and callbacks may be signed with either.
func (k *Keys) Rotate(ctx context.Context, who core.Principal) error {
	orgID := who.OrgID
	return db.Do(ctx, k.db, func(tx db.Tx) error {
		if err := k.createKey(ctx, tx, orgID); err != nil {
			return err
		}
		row := sealedKeys{orgID: orgID}
		err := tx.QueryRow(ctx, `SELECT sealed FROM signing_keys WHERE org_id = $1 FOR UPDATE`, orgID).
			Scan(&row.current)
		if err != nil {
			return fmt.Errorf("lock the signing key of organization %s: %w", orgID, err)
		}
		last, err := k.open(row)
		if err != nil {
			return err
		}
		row, err = k.seal(orgID, pair{current: newKey(), previous: last.current})
		if err != nil {
			return err
		}
		batch := tx.NewBatch()
		batch.Queue(`UPDATE signing_keys SET sealed = $2, sealed_previous = $3, rotated_at = now() WHERE org_id = $1`,
			orgID, row.current, row.previous)
		core.Audit(batch, core.AuditRecord{
			OrgID: orgID, ActorID: who.UserID, TokenID: who.TokenID, Action: "signing_secret.rotate",
			TargetType: "organization", TargetID: orgID.String(), RequestID: core.RequestID(ctx),
		})
		return batch.Send(ctx)
	})
}

// session is a transaction or the pool.
type session interface {
	Exec(ctx context.Context, query string, args ...any) (pgconn.CommandTag, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// findKeys reads the row. A previous key whose time is over counts as none.
func findKeys(ctx context.Context, from session, orgID uuid.UUID) (sealedKeys, error) {
	row := sealedKeys{orgID: orgID}
	err := from.QueryRow(ctx, `
		SELECT sealed, CASE WHEN rotated_at > now() - $2::bigint * interval '1 millisecond' THEN sealed_previous END
		FROM signing_keys WHERE org_id = $1`, orgID, rotationOverlap.Milliseconds(),
	).Scan(&row.current, &row.previous)
	if err != nil {
		return sealedKeys{}, fmt.Errorf("read the signing key of organization %s: %w", orgID, err)
	}
	return row, nil
}

// createKey creates the organization's key unless it has one.
func (k *Keys) createKey(ctx context.Context, in session, orgID uuid.UUID) error {
	row, err := k.seal(orgID, pair{current: newKey()})
	if err != nil {
		return err
	}
	_, err = in.Exec(ctx, `INSERT INTO signing_keys (org_id, sealed) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		orgID, row.current)
	if err != nil {
		return fmt.Errorf("create the signing key of organization %s: %w", orgID, err)
	}
	return nil
}

func (k *Keys) open(row sealedKeys) (pair, error) {
	current, err := k.ring.Open(row.current, keyring.Binding{OrgID: row.orgID, Column: columnCurrent})
	if err != nil {
		return pair{}, fmt.Errorf("open the signing key of organization %s: %w", row.orgID, err)
	}
	keys := pair{current: current}
	if row.previous == nil {
		return keys, nil
	}
	keys.previous, err = k.ring.Open(row.previous, keyring.Binding{OrgID: row.orgID, Column: columnPrevious})
	if err != nil {
		return pair{}, fmt.Errorf("open the previous signing key of organization %s: %w", row.orgID, err)
	}
	return keys, nil
}

func (k *Keys) seal(orgID uuid.UUID, keys pair) (sealedKeys, error) {
	row := sealedKeys{orgID: orgID}
	var err error
	row.current, err = k.ring.Seal(keys.current, keyring.Binding{OrgID: orgID, Column: columnCurrent})
	if err != nil || keys.previous == nil {
		return row, err
	}
	row.previous, err = k.ring.Seal(keys.previous, keyring.Binding{OrgID: orgID, Column: columnPrevious})
	return row, err
}
