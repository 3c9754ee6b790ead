// Package idempotency makes a request that carries an Idempotency-Key happen at most once.
//
// A key is used once per organization and endpoint within its lifetime. Its first request claims it
// inside the transaction that does the work and stores the finished response there; from then on the
// same request is answered with that response and any other one is refused. What did not commit left
// nothing behind, so a refused or failed request may be sent again under the same key.
//
// The package knows keys, fingerprints and responses. It knows nothing of workflows and runs.
package idempotency
