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

	"github.com/golang-jwt/jwt/v5"
)

// forging puts another token in the place of each that the provider signs.
func (p provider) forging(tb testing.TB, forge func(jwt.MapClaims) (string, error)) {
	tb.Helper()
	honest := p.Server.Handler
	p.Server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := httptest.NewRecorder()
		honest.ServeHTTP(recorder, r)
		text := recorder.Body.Bytes()
		var answer map[string]any
		claims := jwt.MapClaims{}
		if err := json.Unmarshal(text, &answer); err != nil {
			answer = nil // It is no answer with a token.
		}
		if token, ok := answer["id_token"].(string); ok {
			_, _, err := jwt.NewParser().ParseUnverified(token, claims)
			if err == nil {
				answer["id_token"], err = forge(claims)
			}
			if err == nil {
				text, err = json.Marshal(answer)
			}
			if err != nil {
				tb.Error(err)
			}
		}
		maps.Copy(w.Header(), recorder.Header())
		w.WriteHeader(recorder.Code)
		_, _ = w.Write(text) // Who does not get it fails.
	})
}

// Nobody but the provider signs tokens, whatever a token says of its signature.
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
	ofOurs := func(provider) any { return own }
	for name, tt := range map[string]struct {
		method jwt.SigningMethod
		key    func(provider) any
		header map[string]any
	}{
		"SignedByNobody": {
			jwt.SigningMethodNone, func(provider) any { return jwt.UnsafeAllowNoneSignatureType }, nil,
		},
		"SignedWithTheSecret": {
			jwt.SigningMethodHS256, func(p provider) any { return []byte(p.ClientSecret) }, nil,
		},
		"SignedWithThePublicKey": {
			jwt.SigningMethodHS256,
			func(p provider) any { return x509.MarshalPKCS1PublicKey(p.Keypair.PublicKey) }, nil,
		},
		"SignedWithAnotherKey":   {jwt.SigningMethodRS256, ofOurs, nil},
		"SignedWithTheKeyInIt":   {jwt.SigningMethodRS256, ofOurs, map[string]any{"jwk": public}},
		"SignedWithTheKeyThere":  {jwt.SigningMethodRS256, ofOurs, map[string]any{"jku": keys.URL}},
		"SignedWithAnUnknownKey": {jwt.SigningMethodRS256, ofOurs, map[string]any{"kid": "another"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := setupProvider(t)
			p.forging(t, func(claims jwt.MapClaims) (string, error) {
				token := jwt.NewWithClaims(tt.method, claims)
				kid, err := p.Keypair.KeyID()
				if err != nil {
					return "", err
				}
				token.Header["kid"] = kid
				maps.Copy(token.Header, tt.header)
				return token.SignedString(tt.key(p))
			})
			wantRefused(t, p.come(t, claimant{subject: "kim-1", email: "kim@b.example"}), http.StatusUnauthorized,
				"is not valid")
		})
	}
	t.Run("SignedByTheProvider", func(t *testing.T) {
		t.Parallel()
		p := setupProvider(t)
		p.forging(t, func(claims jwt.MapClaims) (string, error) { return p.Keypair.SignJWT(claims) })
		sessionOf(t, p.come(t, claimant{subject: "kim-1", email: "kim@b.example"}))
	})
}
