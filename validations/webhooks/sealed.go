package webhooks

import (
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// sealedSecrets are the encrypted columns of a webhook. The previous secret is nil when it is not valid any more, and
// the headers are nil when there are none.
type sealedSecrets struct {
	current, previous, headers []byte
}

// rotationOverlap is how long the previous secret still signs after a rotation, as SQL.
const rotationOverlap = `interval '24 hours'`

// sealedColumns are what sealedSecrets holds.
const sealedColumns = `sealed, CASE WHEN rotated_at > now() - ` + rotationOverlap + ` THEN sealed_previous END,
	sealed_headers`

// binding binds a sealed text to its column. Both secrets have the same: a rotation moves one to the other.
func binding(orgID uuid.UUID, column string) keyring.Binding {
	return keyring.Binding{OrgID: orgID, Column: "webhooks." + column}
}

func sealSecret(ring keyring.Ring, orgID uuid.UUID, secret []byte) ([]byte, error) {
	sealed, err := ring.Seal(secret, binding(orgID, "sealed"))
	if err != nil {
		return nil, fmt.Errorf("encrypt the secret of a webhook: %w", err)
	}
	return sealed, nil
}

func sealHeaders(ring keyring.Ring, orgID uuid.UUID, headers map[string]string) ([]byte, error) {
	if len(headers) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(headers)
	if err != nil {
		return nil, fmt.Errorf("render the headers of a webhook: %w", err)
	}
	sealed, err := ring.Seal(text, binding(orgID, "sealed_headers"))
	if err != nil {
		return nil, fmt.Errorf("encrypt the headers of a webhook: %w", err)
	}
	return sealed, nil
}

// open returns the secrets that sign now, and the headers.
func (s sealedSecrets) open(ring keyring.Ring, orgID uuid.UUID) ([][]byte, map[string]string, error) {
	var secrets [][]byte
	for _, sealed := range [][]byte{s.current, s.previous} {
		if sealed == nil {
			continue
		}
		secret, err := ring.Open(sealed, binding(orgID, "sealed"))
		if err != nil {
			return nil, nil, fmt.Errorf("open the secret of a webhook: %w", err)
		}
		secrets = append(secrets, secret)
	}
	if s.headers == nil {
		return secrets, nil, nil
	}
	text, err := ring.Open(s.headers, binding(orgID, "sealed_headers"))
	if err != nil {
		return nil, nil, fmt.Errorf("open the headers of a webhook: %w", err)
	}
	var headers map[string]string
	if err := json.Unmarshal(text, &headers); err != nil {
		return nil, nil, fmt.Errorf("read the headers of a webhook: %w", err)
	}
	return secrets, headers, nil
}
