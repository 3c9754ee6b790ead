package pages

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"golang.org/x/oauth2"

	"github.com/simplevalidations/simplevalidations/config"
)

const (
	clientID     = "the-service"
	clientSecret = "the-secret-of-the-service-at-the-provider"
	keyID        = "the-key-of-the-provider"
)

// providerKey is the key of all providers, because each takes time to be made.
var providerKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// provider is a provider of OpenID Connect, and a service whose people sign in with it.
type provider struct {
	*stage

	issuer string
	// flows are the sign-ins whose codes nobody has redeemed, by code.
	flows *sync.Map
	// sign makes a token.
	sign func(claims map[string]any) (string, error)
}

// flow is a sign-in: what the service has asked for, and who has signed in.
type flow struct {
	asked url.Values
	user  claimant
}

func setupProvider(tb testing.TB, change ...func(*config.Settings)) *provider {
	tb.Helper()
	key, err := providerKey()
	if err != nil {
		tb.Fatal(err)
	}
	p := &provider{flows: &sync.Map{}, sign: func(claims map[string]any) (string, error) {
		return token(map[string]any{"alg": oidc.RS256, "kid": keyID}, claims, byKey(key))
	}}
	published := &oidctest.Server{PublicKeys: []oidctest.PublicKey{
		{PublicKey: key.Public(), KeyID: keyID, Algorithm: oidc.RS256},
	}}
	mux := http.NewServeMux()
	mux.Handle("GET /", published)
	mux.HandleFunc("POST /token", p.redeem)
	server := httptest.NewServer(mux)
	tb.Cleanup(server.Close)
	published.SetIssuer(server.URL)
	p.issuer = server.URL
	p.stage = setup(tb, append([]func(*config.Settings){func(settings *config.Settings) {
		settings.BaseURL = "http://validations.example"
		settings.OIDCIssuer, settings.OIDCCreateUsers = server.URL, true
		settings.OIDCClientID, settings.OIDCClientSecret = clientID, clientSecret
	}}, change...)...)
	return p
}

// claimant is somebody at the provider, whose token says what the test wants.
type claimant struct {
	subject, email string
	unverified     bool
	// change alters the claims.
	change func(map[string]any)
}

// visit signs the user in at the provider and returns the address that the browser is sent back to.
func (p *provider) visit(tb testing.TB, address string, user claimant) *url.URL {
	tb.Helper()
	to, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	asked := to.Query()
	if to.Path != "/auth" || asked.Get("client_id") != clientID || asked.Get("response_type") != "code" ||
		asked.Get("code_challenge_method") != "S256" || !strings.HasPrefix(asked.Get("scope"), oidc.ScopeOpenID) {
		tb.Fatalf("the provider does not understand %s", address)
	}
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil || back.String() != "http://validations.example/app/sign-in/provider/callback/" {
		tb.Fatalf("the provider leads to %s", asked.Get("redirect_uri"))
	}
	code := rand.Text()
	p.flows.Store(code, flow{asked, user})
	back.RawQuery = url.Values{"code": {code}, "state": asked["state"]}.Encode()
	return back
}

// redeem answers a code with a token: once, and only to the service, with the verifier of the flow (PKCE).
func (p *provider) redeem(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	found, known := p.flows.LoadAndDelete(r.PostFormValue("code"))
	begun, _ := found.(flow)
	if !known || id != clientID || secret != clientSecret ||
		r.PostFormValue("grant_type") != "authorization_code" ||
		r.PostFormValue("redirect_uri") != begun.asked.Get("redirect_uri") ||
		oauth2.S256ChallengeFromVerifier(r.PostFormValue("code_verifier")) != begun.asked.Get("code_challenge") {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	claims := map[string]any{
		"iss": p.issuer, "aud": clientID, "sub": begun.user.subject, "nonce": begun.asked.Get("nonce"),
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
		"email": begun.user.email, "email_verified": !begun.user.unverified, "name": "Person",
	}
	if begun.user.change != nil {
		begun.user.change(claims)
	}
	signed, err := p.sign(claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"access_token":"-","token_type":"bearer","id_token":%q}`, signed) // Who lacks it fails.
}

// token makes a token, whose header may be wrong about the signature.
func token(header, claims map[string]any, sign func([]byte) ([]byte, error)) (string, error) {
	parts := make([]string, 0, 3)
	for _, part := range []map[string]any{header, claims} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", err
		}
		parts = append(parts, base64.RawURLEncoding.EncodeToString(text))
	}
	signature, err := sign([]byte(strings.Join(parts, ".")))
	return strings.Join(append(parts, base64.RawURLEncoding.EncodeToString(signature)), "."), err
}

func byKey(key *rsa.PrivateKey) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		digest := sha256.Sum256(text)
		return rsa.SignPKCS1v15(nil, key, crypto.SHA256, digest[:])
	}
}

func bySecret(secret []byte) func([]byte) ([]byte, error) {
	return func(text []byte) ([]byte, error) {
		mac := hmac.New(sha256.New, secret)
		mac.Write(text) // It never fails.
		return mac.Sum(nil), nil
	}
}
