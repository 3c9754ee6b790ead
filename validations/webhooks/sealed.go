package webhooks

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// sealedSecrets are the encrypted columns of a webhook. The previous secret is nil when it is not valid any more, and
// the headers are nil when there are none.
type sealedSecrets struct {
	current, previous, headers []byte
}

// secretBytes is the length of a secret: the key of an HMAC, or the seed of an Ed25519 key.
const secretBytes = 32

func newSecret() []byte {
	secret := make([]byte, secretBytes)
	// rand.Read never returns an error: since Go 1.24 it ends the process instead.
	_, _ = rand.Read(secret)
	return secret
}

// shownSecret is what the receiver verifies with: the secret itself, or the public key that belongs to it.
func shownSecret(scheme api.SignatureScheme, secret []byte) string {
	if scheme == api.SignatureSchemeV1a {
		public, _ := ed25519.NewKeyFromSeed(secret).Public().(ed25519.PublicKey)
		return "whpk_" + base64.StdEncoding.EncodeToString(public)
	}
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// rotationOverlap is how long the previous secret still signs after a rotation, as SQL.
const rotationOverlap = `interval '24 hours'`

// sealedColumns are what sealedSecrets holds.
const sealedColumns = `sealed, CASE WHEN rotated_at > now() - ` + rotationOverlap + ` THEN sealed_previous END,
	sealed_headers`

// SealedTable has the encrypted secrets and headers of webhooks.
func SealedTable() keyring.Table {
	return keyring.Table{
		Name: "webhooks", ID: "id", Columns: []string{"sealed", "sealed_previous", "sealed_headers"},
	}
}

// binding binds a sealed text to its webhook and column.
func binding(id uuid.UUID, column string) keyring.Binding {
	return keyring.Binding{OrgID: id, Column: "webhooks." + column}
}

func seal(ring keyring.Ring, id uuid.UUID, column string, text []byte) ([]byte, error) {
	sealed, err := ring.Seal(text, binding(id, column))
	if err != nil {
		return nil, core.Unavailable(fmt.Errorf("encrypt the %s of a webhook: %w", column, err))
	}
	return sealed, nil
}

// sealHeaders returns the names of headers, and them encrypted. Both are nil where the headers stay as they are.
func sealHeaders(ring keyring.Ring, id uuid.UUID, headers map[string]string) ([]string, []byte, error) {
	if headers == nil {
		return nil, nil, nil
	}
	names := slices.AppendSeq([]string{}, maps.Keys(headers))
	slices.Sort(names)
	text, err := json.Marshal(headers)
	if err != nil {
		return nil, nil, fmt.Errorf("render the headers of a webhook: %w", err)
	}
	sealed, err := seal(ring, id, "sealed_headers", text)
	return names, sealed, err
}

// open returns the secrets that sign now, and the headers.
func (s sealedSecrets) open(ring keyring.Ring, id uuid.UUID) ([][]byte, map[string]string, error) {
	var secrets [][]byte
	for i, sealed := range [][]byte{s.current, s.previous, s.headers} {
		column := SealedTable().Columns[i]
		if sealed == nil {
			continue
		}
		text, err := ring.Open(sealed, binding(id, column))
		if err != nil {
			return nil, nil, fmt.Errorf("open the %s of webhook %s: %w", column, id, err)
		}
		secrets = append(secrets, text)
	}
	if s.headers == nil {
		return secrets, nil, nil
	}
	last := len(secrets) - 1
	var headers map[string]string
	if err := json.Unmarshal(secrets[last], &headers); err != nil {
		return nil, nil, fmt.Errorf("read the headers of webhook %s: %w", id, err)
	}
	return secrets[:last], headers, nil
}
