package external

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

const (
	// secretPrefix lets secret scanners find a leaked secret.
	secretPrefix = "svs_"
	// secretBytes is the length of a SHA-256 digest: a longer secret makes an HMAC no stronger.
	secretBytes = 32
	// rotationOverlap is how long the previous key stays valid after a rotation.
	rotationOverlap = 24 * time.Hour
)

// Keys are the signing keys of all organizations, encrypted in the database. Calls of an external validator, and its
// callbacks, are signed with a secret that is derived from the organization's key.
type Keys struct {
	db   *db.DB
	ring keyring.Ring
}

// NewKeys makes Keys that are encrypted under those of the ring. Without any in it, no call can be signed.
func NewKeys(database *db.DB, ring keyring.Ring) *Keys {
	return &Keys{db: database, ring: ring}
}

// pair is the keys that an organization's secrets are derived from. The previous one is nil when it is not valid.
type pair struct {
	current, previous []byte
}

// Read returns the secrets of the validators at the origins, in that order, and audits that they were read. Each signs
// the calls of one validator and its callbacks. The first call for an organization creates its key.
func (k *Keys) Read(ctx context.Context, reader core.Principal, origins []string) ([]api.SigningSecret, error) {
	keys, err := k.audited(ctx, reader, origins)
	if err != nil {
		return nil, err
	}
	secrets := make([]api.SigningSecret, len(origins))
	for i, origin := range origins {
		secrets[i] = api.SigningSecret{Origin: origin, Secret: deriveSecret(keys.current, origin)}
		if keys.previous != nil {
			secrets[i].Previous = api.Optional(deriveSecret(keys.previous, origin))
		}
	}
	return secrets, nil
}

// Valid returns all valid secrets of the validator at the origin, the current one first.
func (k *Keys) Valid(ctx context.Context, orgID uuid.UUID, origin string) ([][]byte, error) {
	keys, err := k.find(ctx, orgID)
	if err != nil {
		return nil, err
	}
	secrets := [][]byte{[]byte(deriveSecret(keys.current, origin))}
	if keys.previous != nil {
		secrets = append(secrets, []byte(deriveSecret(keys.previous, origin)))
	}
	return secrets, nil
}

// deriveSecret returns the secret of the validator at the origin (HKDF with SHA-256, RFC 5869). It says nothing about
// the key, and so nothing about the secrets of other validators.
func deriveSecret(key []byte, origin string) string {
	// It fails only for more than 255 hashes of output.
	derived, _ := hkdf.Key(sha256.New, key, nil, "simplevalidations validator "+origin, secretBytes)
	return secretPrefix + base64.RawURLEncoding.EncodeToString(derived)
}

func newKey() []byte {
	key := make([]byte, secretBytes)
	// rand.Read never returns an error: since Go 1.24 it ends the process instead.
	_, _ = rand.Read(key)
	return key
}

// SealedTable has the encrypted signing keys of all organizations.
func SealedTable() keyring.Table {
	return keyring.Table{
		Name: "signing_keys", ID: "org_id", Columns: []string{"sealed", "sealed_previous"},
		Action: "signing_secret.reencrypt",
	}
}
