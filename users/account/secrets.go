package account

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

const (
	// tokenPrefix lets secret scanners find a leaked token.
	tokenPrefix = "sv_"
	secretBytes = 32
	// shownPrefix is how many characters of a token are kept, so that people recognize it.
	shownPrefix = len(tokenPrefix) + 6
)

// NewSecret makes a token's secret (256 random bits) and what is stored of it.
func NewSecret() (secret string, digest []byte, prefix string) { //nolint:nonamedreturns // three results of two types
	random := make([]byte, secretBytes)
	// Read never fails (since Go 1.24 it ends the process instead).
	_, _ = rand.Read(random)
	return SecretOf(random)
}

// SecretOf makes the secret of random bytes, and what is stored of it.
func SecretOf(random []byte) (secret string, digest []byte, prefix string) { //nolint:nonamedreturns // as above
	secret = tokenPrefix + base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(secret))
	return secret, sum[:], secret[:shownPrefix]
}

// Digest is what is stored of a secret, and by which it is found.
func Digest(secret string) []byte {
	digest := sha256.Sum256([]byte(secret))
	return digest[:]
}
