package webhooks

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// secretBytes is the length of a secret: the key of an HMAC, or the seed of an Ed25519 key.
const secretBytes = 32

// The headers of Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

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

// Sign sets the headers of Standard Webhooks for a body, with a signature under each secret.
func Sign(
	header http.Header, scheme api.SignatureScheme, id string, at time.Time, body []byte, secrets ...[]byte,
) {
	seconds := strconv.FormatInt(at.Unix(), 10)
	content := append([]byte(id+"."+seconds+"."), body...)
	signatures := make([]string, len(secrets))
	for i, secret := range secrets {
		var sum []byte
		if scheme == api.SignatureSchemeV1a {
			sum = ed25519.Sign(ed25519.NewKeyFromSeed(secret), content)
		} else {
			mac := hmac.New(sha256.New, secret)
			_, _ = mac.Write(content) // A hash never fails.
			sum = mac.Sum(nil)
		}
		signatures[i] = string(scheme) + "," + base64.StdEncoding.EncodeToString(sum)
	}
	header.Set("Content-Type", "application/json")
	header.Set(headerID, id)
	header.Set(headerTimestamp, seconds)
	header.Set(headerSignature, strings.Join(signatures, " "))
}
