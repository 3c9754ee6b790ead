// Package idemcheck tells whether the idempotency keys of an HTTP API are safe. It sends requests that a Description
// makes, counts their effects, and judges each Case: a replay, a race, a lost answer, another tenant with the same key.
//
// It knows nothing of the API but the description, and it never guesses: what a description gives it no means to judge
// is reported as such. A Profile judges cases, because the draft of the IETF, Stripe and this product promise different
// things. Requests go through a Proxy where a case needs a network that fails.
package idemcheck
