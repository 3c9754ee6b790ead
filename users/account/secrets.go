package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// NewSecret makes a secret (256 random bits) and its digest.
func NewSecret() (string, []byte) {
	random := make([]byte, sha256.Size)
	// Read never fails (since Go 1.24 it ends the process instead).
	_, _ = rand.Read(random)
	secret := "sv_" + base64.RawURLEncoding.EncodeToString(random)
	return secret, Digest(secret)
}

// Digest is what is stored of a secret, and by which it is found.
func Digest(secret string) []byte {
	digest := sha256.Sum256([]byte(secret))
	return digest[:]
}
