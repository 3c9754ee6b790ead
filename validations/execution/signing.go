package execution

import (
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
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

// ValidatorSecret signs an organization's calls of one external validator, and the validator's callbacks. Another
// validator of the organization has another secret.
type ValidatorSecret struct {
	// Origin is the scheme, host and port of the validator's URL.
	Origin string
	Secret string
	// Previous is the secret before the last rotation while it is valid, else it is empty.
	Previous string
}

// signingKeys are those that an organization's secrets are derived from. The previous one is nil when it is not valid.
type signingKeys struct {
	current, previous []byte
}

// ReadSecrets returns the secrets of the validators at the origins, in that order, and audits that they were read. The
// first call for an organization creates its key.
func (e *Executor) ReadSecrets(
	ctx context.Context, reader core.Principal, origins []string,
) ([]ValidatorSecret, error) {
	keys, err := e.auditedKeys(ctx, reader, origins)
	if err != nil {
		return nil, err
	}
	secrets := make([]ValidatorSecret, len(origins))
	for i, origin := range origins {
		secrets[i] = ValidatorSecret{Origin: origin, Secret: deriveSecret(keys.current, origin)}
		if keys.previous != nil {
			secrets[i].Previous = deriveSecret(keys.previous, origin)
		}
	}
	return secrets, nil
}

// validSecrets returns all valid secrets of the validator at the origin, the current one first.
func (e *Executor) validSecrets(ctx context.Context, orgID uuid.UUID, origin string) ([][]byte, error) {
	keys, err := e.signingKeys(ctx, orgID)
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

func newSigningKey() []byte {
	key := make([]byte, secretBytes)
	// rand.Read never returns an error: since Go 1.24 it ends the process instead.
	_, _ = rand.Read(key)
	return key
}

// ResealSigningKeys encrypts all signing keys under the first key of the ring that are under another one, and returns
// of how many organizations. It may be stopped at any time, and continues when it is called again.
func (e *Executor) ResealSigningKeys(ctx context.Context) (int, error) {
	total := 0
	for {
		n, err := e.resealBatch(ctx)
		total += n
		if err != nil || n == 0 {
			return total, err
		}
	}
}

// KeyUse says under which keys of the installation signing keys are encrypted.
type KeyUse struct {
	// Unknown are the ids of keys that the ring does not have: what they have encrypted cannot be read.
	Unknown []string
	// Outdated counts the organizations whose signing keys are not encrypted under the first key.
	Outdated int
}

// CheckKeys returns which keys are in use, compared with those of the ring.
func CheckKeys(ctx context.Context, database *db.DB, ring keyring.Ring) (KeyUse, error) {
	used, err := usedKeys(ctx, database)
	if err != nil {
		return KeyUse{}, fmt.Errorf("look for the keys in use: %w", err)
	}
	var use KeyUse
	known := ring.IDs()
	for id, organizations := range used {
		if !slices.Contains(known, id) {
			use.Unknown = append(use.Unknown, id.String())
		}
		if len(known) == 0 || id != known[0] {
			use.Outdated += organizations
		}
	}
	slices.Sort(use.Unknown)
	return use, nil
}
