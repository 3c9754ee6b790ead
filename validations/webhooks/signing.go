package webhooks

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"

	"github.com/simplevalidations/simplevalidations/core/api"
)

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
