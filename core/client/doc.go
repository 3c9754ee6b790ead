// Package client is the Go client of the REST API. Of the service it imports the bodies alone, package api.
//
// A start always carries an idempotency key: the caller's, that of WithKeyFunc, or a new UUIDv7. All attempts of one
// call send the same key and the same bytes, so that however often the network fails, at most one run is started. The
// key is in the result and in every error. A program that keeps it can repeat the call after a crash and gets the same
// run.
//
// A call is retried, with exponential back-off and full jitter between the attempts, when the connection fails or the
// service says that a repetition makes sense: the key is in progress, too many requests, temporarily unavailable. It is
// not retried when the request has to change first, when the quota is used up, when the server's certificate is not
// trusted, or when the context is done. A Retry-After of up to a minute is honored; a longer one ends the call at once.
//
// When the answer to a start never arrives, the error is an *UnknownOutcomeError: a run may exist, and repeating the
// call with the same key finds out. A refusal is an *Error, which matches the codes of package api:
// errors.Is(err, api.CodeQuotaExceeded).
//
// A WebhookReceiver verifies the webhooks of the service.
//
// A Client is safe for use by several goroutines at once. Package clienttest has a server for tests.
package client

//go:generate go run ./generate
