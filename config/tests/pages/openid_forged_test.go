package pages

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
)

// Nobody but the provider signs tokens, whatever a token says of its signature. Other tests have tokens by its key.
func TestForgedTokensOfTheProvider(t *testing.T) {
	t.Parallel()
	own, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public := map[string]any{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(own.N.Bytes()), "e": "AQAB"}
	keys := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{public}}) // Nobody should ask for it.
	}))
	t.Cleanup(keys.Close)
	key, err := providerKey()
	if err != nil {
		t.Fatal(err)
	}
	nobody := func([]byte) ([]byte, error) { return nil, nil }
	for name, tt := range map[string]struct {
		algorithm string
		sign      func([]byte) ([]byte, error)
		header    map[string]any
	}{
		"SignedByNobody":         {"none", nobody, nil},
		"SignedWithTheSecret":    {"HS256", bySecret([]byte(clientSecret)), nil},
		"SignedWithThePublicKey": {"HS256", bySecret(x509.MarshalPKCS1PublicKey(&key.PublicKey)), nil},
		"SignedWithAnotherKey":   {oidc.RS256, byKey(own), nil},
		"SignedWithTheKeyInIt":   {oidc.RS256, byKey(own), map[string]any{"jwk": public}},
		"SignedWithTheKeyThere":  {oidc.RS256, byKey(own), map[string]any{"jku": keys.URL}},
		"SignedWithAnUnknownKey": {oidc.RS256, byKey(own), map[string]any{"kid": "another"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := setupProvider(t)
			p.sign = func(claims map[string]any) (string, error) {
				header := map[string]any{"alg": tt.algorithm, "kid": keyID}
				maps.Copy(header, tt.header)
				return token(header, claims, tt.sign)
			}
			wantRefused(t, p.come(t, claimant{subject: "kim-1", email: "kim@b.example"}), http.StatusUnauthorized,
				"is not valid")
		})
	}
}
