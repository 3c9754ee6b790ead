package signin

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

// factorColumns are what scanFactor reads. After too many failures no code is checked for a minute after the last one,
// so that a million codes cannot be tried.
func factorColumns() string {
	return `sealed, confirmed_at IS NOT NULL, last_step, cardinality(recovery),
		floor(extract(epoch FROM now()))::bigint,
		CASE WHEN failures >= ` + strconv.Itoa(freeFailures) + `
			THEN greatest(0, extract(epoch FROM failed_at + interval '1 minute' - now()))::float8 ELSE 0 END`
}

func scanFactor(row pgx.Row) (*factor, error) {
	var found factor
	var wait float64
	err := row.Scan(&found.sealed, &found.confirmed, &found.lastStep, &found.left, &found.now, &wait)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // most users have none
	}
	if err != nil {
		return nil, fmt.Errorf("look a second factor up: %w", err)
	}
	found.wait = core.Seconds(wait).Truncate(time.Millisecond)
	return &found, nil
}

// factor returns the user's second factor; nil where there is none.
func (s *Service) factor(ctx context.Context, userID uuid.UUID) (*factor, error) {
	return scanFactor(s.db.Pool.QueryRow(ctx,
		`SELECT `+factorColumns()+` FROM second_factors WHERE user_id = $1`, userID))
}

// lockFactor keeps two requests from using one code.
func lockFactor(ctx context.Context, tx db.Tx, userID uuid.UUID) (*factor, error) {
	return scanFactor(tx.QueryRow(ctx, `SELECT `+factorColumns()+` FROM second_factors WHERE user_id = $1 FOR UPDATE`,
		userID))
}

// upsertFactor reports false where the user has a second factor that counts.
func upsertFactor(ctx context.Context, tx db.Tx, userID uuid.UUID, sealed []byte) (bool, error) {
	added, err := tx.Exec(ctx, `
		INSERT INTO second_factors AS f (user_id, sealed) VALUES ($1, $2)
		ON CONFLICT ON CONSTRAINT second_factors_pkey DO UPDATE SET sealed = excluded.sealed, created_at = now()
		WHERE f.confirmed_at IS NULL`, userID, sealed)
	if err != nil {
		return false, fmt.Errorf("add a second factor: %w", err)
	}
	return added.RowsAffected() > 0, nil
}

func updateFactorConfirmed(ctx context.Context, tx db.Tx, userID uuid.UUID, step int64, recovery [][]byte) error {
	_, err := tx.Exec(ctx, `UPDATE second_factors
		SET confirmed_at = now(), last_step = $2, recovery = $3, failures = 0 WHERE user_id = $1`,
		userID, step, recovery)
	if err != nil {
		return fmt.Errorf("confirm a second factor: %w", err)
	}
	return nil
}

func updateRecovery(ctx context.Context, tx db.Tx, userID uuid.UUID, recovery [][]byte) (bool, error) {
	renewed, err := tx.Exec(ctx, `UPDATE second_factors SET recovery = $2
		WHERE user_id = $1 AND confirmed_at IS NOT NULL`, userID, recovery)
	if err != nil {
		return false, fmt.Errorf("renew recovery codes: %w", err)
	}
	return renewed.RowsAffected() > 0, nil
}

func updateFactorUsed(ctx context.Context, tx db.Tx, userID uuid.UUID, step int64) error {
	_, err := tx.Exec(ctx, `UPDATE second_factors SET last_step = $2, failures = 0 WHERE user_id = $1`, userID, step)
	if err != nil {
		return fmt.Errorf("use a code: %w", err)
	}
	return nil
}

func updateFactorFailed(ctx context.Context, tx db.Tx, userID uuid.UUID) error {
	_, err := tx.Exec(ctx, `UPDATE second_factors SET failures = failures + 1, failed_at = now() WHERE user_id = $1`,
		userID)
	if err != nil {
		return fmt.Errorf("count a wrong code: %w", err)
	}
	return nil
}

// useRecoveryCode uses up a recovery code, and reports whether it was unused.
func useRecoveryCode(ctx context.Context, tx db.Tx, userID uuid.UUID, digest []byte) (bool, error) {
	used, err := tx.Exec(ctx, `UPDATE second_factors SET recovery = array_remove(recovery, $2), failures = 0
		WHERE user_id = $1 AND $2 = ANY (recovery)`, userID, digest)
	if err != nil {
		return false, fmt.Errorf("use a recovery code: %w", err)
	}
	return used.RowsAffected() > 0, nil
}

// deleteFactor reports whether the removed factor had counted.
func deleteFactor(ctx context.Context, tx db.Tx, userID uuid.UUID) (bool, error) {
	var counted bool
	err := tx.QueryRow(ctx, `DELETE FROM second_factors WHERE user_id = $1 RETURNING confirmed_at IS NOT NULL`, userID).
		Scan(&counted)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return false, fmt.Errorf("remove a second factor: %w", err)
	}
	return counted, nil
}
