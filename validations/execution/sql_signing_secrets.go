package execution

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/db"
)

const (
	// signingPrefix lets secret scanners find a leaked secret.
	signingPrefix = "svs_"
	signingBytes  = 32
	// rotationOverlap is how long the previous secret stays valid after a rotation.
	rotationOverlap = 24 * time.Hour
)

// SigningSecret signs an organization's calls of external validators, and their callbacks.
type SigningSecret struct {
	Secret string
	// Previous is the secret before the last rotation while it is valid, else it is empty.
	Previous string
}

// SigningSecret returns the organization's secret. The first call creates it.
func (e *Executor) SigningSecret(ctx context.Context, orgID uuid.UUID) (SigningSecret, error) {
	secret, err := e.findSecret(ctx, orgID)
	if !errors.Is(err, pgx.ErrNoRows) {
		return secret, err
	}
	_, err = e.db.Pool.Exec(ctx, `INSERT INTO signing_secrets (org_id, secret) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
		orgID, newSigningSecret())
	if err != nil {
		return SigningSecret{}, fmt.Errorf("make a signing secret: %w", err)
	}
	return e.findSecret(ctx, orgID)
}

// RotateSigningSecret creates a new secret for the organization. For 24 hours, calls are signed with the previous one
// as well, and callbacks may be signed with either.
func (e *Executor) RotateSigningSecret(ctx context.Context, orgID uuid.UUID) (SigningSecret, error) {
	auditID, err := core.NewID()
	if err != nil {
		return SigningSecret{}, err
	}
	fresh := newSigningSecret()
	_, err = db.InTx(ctx, e.db, func(tx db.Tx) (struct{}, error) {
		_, err := tx.Exec(ctx, `
			INSERT INTO signing_secrets AS s (org_id, secret) VALUES ($1, $2)
			ON CONFLICT (org_id) DO UPDATE SET secret = EXCLUDED.secret, previous = s.secret, rotated_at = now()`,
			orgID, fresh)
		if err != nil {
			return struct{}{}, fmt.Errorf("rotate a signing secret: %w", err)
		}
		batch := tx.NewBatch()
		core.Audit(batch, core.AuditRecord{
			ID: auditID, OrgID: orgID, Action: "signing_secret.rotate", TargetType: "organization",
			TargetID: orgID.String(), RequestID: core.RequestID(ctx),
		})
		return struct{}{}, batch.Send(ctx)
	})
	if err != nil {
		return SigningSecret{}, err
	}
	return e.findSecret(ctx, orgID)
}

func (e *Executor) findSecret(ctx context.Context, orgID uuid.UUID) (SigningSecret, error) {
	var secret SigningSecret
	err := e.db.Pool.QueryRow(ctx, `
		SELECT secret, CASE WHEN rotated_at > now() - $2::bigint * interval '1 millisecond' THEN previous ELSE '' END
		FROM signing_secrets WHERE org_id = $1`, orgID, rotationOverlap.Milliseconds(),
	).Scan(&secret.Secret, &secret.Previous)
	if err != nil {
		return SigningSecret{}, fmt.Errorf("read the signing secret of organization %s: %w", orgID, err)
	}
	return secret, nil
}

// signingSecrets returns all valid secrets, the current one first.
func (e *Executor) signingSecrets(ctx context.Context, orgID uuid.UUID) ([][]byte, error) {
	secret, err := e.SigningSecret(ctx, orgID)
	if err != nil {
		return nil, err
	}
	if secret.Previous == "" {
		return [][]byte{[]byte(secret.Secret)}, nil
	}
	return [][]byte{[]byte(secret.Secret), []byte(secret.Previous)}, nil
}

func newSigningSecret() string {
	random := make([]byte, signingBytes)
	// rand.Read never returns an error: since Go 1.24 it ends the process instead.
	_, _ = rand.Read(random)
	return signingPrefix + base64.RawURLEncoding.EncodeToString(random)
}
