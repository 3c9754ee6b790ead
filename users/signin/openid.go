package signin

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/users/account"
)

const (
	// providerTimeout bounds each request to the provider.
	providerTimeout = 10 * time.Second
	// proofAge is how long ago the provider may have asked for the password when a user confirms who they are.
	proofAge = 10 * time.Minute
	// clockSkew is how far the clock of the provider may be ahead.
	clockSkew = time.Minute
	// maxName is how many characters of a name are kept.
	maxName = 200
)

// OpenIDConfig says with which provider of OpenID Connect people sign in.
type OpenIDConfig struct {
	// Issuer is the URL of the provider, below which its configuration is found.
	Issuer string
	// ClientID and Secret are those that the provider has given to this service.
	ClientID, Secret string
	// Domains are those of the addresses that may sign in; all of them where it is empty.
	Domains []string
	// CreateUsers gives an account to people who sign in without one. Otherwise they are refused.
	CreateUsers bool
	// Address is the service's public URL, without a slash at its end.
	Address string
}

// OpenID is the provider. Its configuration is read at the first sign-in and not before: a provider that is down stops
// nothing else.
type OpenID struct {
	cfg    OpenIDConfig
	client *http.Client
	found  atomic.Pointer[oidc.Provider]
	asked  singleflight.Group
}

// NewOpenID makes an OpenID. It sends nothing.
func NewOpenID(cfg OpenIDConfig) *OpenID {
	return &OpenID{cfg: cfg, client: &http.Client{Timeout: providerTimeout}}
}

// Name is what people call the provider: its host.
func (o *OpenID) Name() string {
	address, err := url.Parse(o.cfg.Issuer)
	if err != nil || address.Hostname() == "" {
		return "your provider"
	}
	return address.Hostname()
}

// issuer is that of the installation's provider; "" for none.
func (s *Service) issuer() string {
	if s.cfg.OpenID == nil {
		return ""
	}
	return s.cfg.OpenID.cfg.Issuer
}

// provider reads the configuration of the provider, once. Concurrent callers wait for the same answer; after a failure
// the next caller tries again.
func (o *OpenID) provider(ctx context.Context) (*oidc.Provider, error) {
	if found := o.found.Load(); found != nil {
		return found, nil
	}
	asked := o.asked.DoChan("", func() (any, error) {
		found, err := oidc.NewProvider(o.context(context.WithoutCancel(ctx)), o.cfg.Issuer)
		if err != nil {
			return nil, fmt.Errorf("ask the provider for its configuration: %w", err)
		}
		o.found.Store(found)
		return found, nil
	})
	select {
	case answer := <-asked:
		if answer.Err != nil {
			return nil, providerAway(answer.Err)
		}
		return o.found.Load(), nil
	case <-ctx.Done():
		return nil, providerAway(ctx.Err())
	}
}

func (o *OpenID) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, o.client)
}

func (o *OpenID) exchange(provider *oidc.Provider) *oauth2.Config {
	return &oauth2.Config{
		ClientID: o.cfg.ClientID, ClientSecret: o.cfg.Secret, Endpoint: provider.Endpoint(),
		RedirectURL: o.cfg.Address + openIDAddress + "callback/",
		Scopes:      []string{oidc.ScopeOpenID, "email", "profile"},
	}
}

// derived is a value that only the holder of a browser's secret can compute: the state, the nonce or the verifier of
// its flow.
func derived(secret, name string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(name)) // It never fails.
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// flow is the address at the provider to which a browser with the secret is sent. again demands that the provider asks
// for the password, however lately it has done so.
func (o *OpenID) flow(ctx context.Context, secret string, again bool) (string, error) {
	provider, err := o.provider(ctx)
	if err != nil {
		return "", err
	}
	options := []oauth2.AuthCodeOption{
		oidc.Nonce(derived(secret, "nonce")), oauth2.S256ChallengeOption(derived(secret, "verifier")),
	}
	if again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"), oauth2.SetAuthURLParam("max_age", "0"))
	}
	return o.exchange(provider).AuthCodeURL(derived(secret, "state"), options...), nil
}

// belongs reports whether an answer with this state belongs to the flow of the browser with the secret.
func belongs(state, secret string) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(state), []byte(derived(secret, "state"))) == 1
}

// person is a person who has signed in at the provider.
type person struct {
	Issuer, Subject, Email, Name string
	// AskedAt is when the provider has asked for the password (auth_time); zero if it does not say.
	AskedAt time.Time
}

// redeem exchanges the code of an answer for the person.
func (o *OpenID) redeem(ctx context.Context, secret, code string) (person, error) {
	provider, err := o.provider(ctx)
	if err != nil {
		return person{}, err
	}
	tokens, err := o.exchange(provider).Exchange(o.context(ctx), code,
		oauth2.VerifierOption(derived(secret, "verifier")))
	if err != nil {
		if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			return person{}, notVouched("The provider does not know this sign-in, or it was used before. Begin again.",
				refused)
		}
		return person{}, providerAway(err)
	}
	raw, _ := tokens.Extra("id_token").(string)
	token, err := provider.Verifier(&oidc.Config{ClientID: o.cfg.ClientID}).Verify(o.context(ctx), raw)
	if err != nil {
		return person{}, notVouched("The answer of the provider is not valid. Begin again.", err)
	}
	if subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(derived(secret, "nonce"))) != 1 {
		return person{}, notVouched("The answer of the provider belongs to another sign-in. Begin again.", nil)
	}
	return o.accept(token)
}

// accept reads the person from the claims, if the provider has verified the address and its domain may sign in.
func (o *OpenID) accept(token *oidc.IDToken) (person, error) {
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
		Name     string `json:"name"`
		AuthTime int64  `json:"auth_time"`
		Party    string `json:"azp"`
	}
	if err := token.Claims(&claims); err != nil {
		return person{}, notVouched("The answer of the provider cannot be read.", err)
	}
	if !claims.Verified || claims.Email == "" {
		return person{}, core.PermissionDenied(
			"The provider has not verified your e-mail address. Verify it there and sign in again.")
	}
	if core.Storable(claims.Email) != claims.Email || core.Storable(token.Subject) != token.Subject {
		return person{}, notVouched("The answer of the provider cannot be read.", nil)
	}
	// A token for several services could have been made for another one (OpenID Connect Core, 3.1.3.7).
	if len(token.Audience) > 1 && claims.Party != o.cfg.ClientID {
		return person{}, notVouched("The answer of the provider is for another service. Begin again.", nil)
	}
	email := account.NormalizeEmail(claims.Email)
	_, domain, _ := strings.Cut(email, "@")
	if len(o.cfg.Domains) > 0 && !slices.Contains(o.cfg.Domains, domain) {
		return person{}, core.PermissionDenied("Addresses of " + core.StorableUpTo(domain, maxName) +
			" may not sign in here. Ask the operator of the service.")
	}
	found := person{
		Issuer: token.Issuer, Subject: token.Subject, Email: email, Name: core.StorableUpTo(claims.Name, maxName),
	}
	if claims.AuthTime > 0 {
		found.AskedAt = time.Unix(claims.AuthTime, 0)
	}
	return found, nil
}

func providerAway(cause error) error {
	away := core.Unavailable(cause)
	away.Detail = "The provider cannot be reached. Try again later, or sign in with your password."
	return away
}

func notVouched(detail string, cause error) error {
	return core.NewError(api.CodeNotAuthenticated, detail).Because(cause)
}
