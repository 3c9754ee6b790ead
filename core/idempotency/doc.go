// Package idempotency makes a request that carries an Idempotency-Key happen at most once.
//
// A key is used once per organization and endpoint within its lifetime. Its first request claims it
// inside the transaction that does the work and stores the finished response there; from then on the
// same request is answered with that response and any other one is refused. What did not commit left
// nothing behind, so a refused or failed request may be sent again under the same key.
//
// An endpoint whose work is one transaction is routed through Guard.Keyed and hands its work to Guard.Once. One that
// has to ask somebody outside before it can answer is a Flow: its first transaction claims the key and names a
// recovery point, an Engine drives it from there phase by phase, and a Completer finishes what its client has left.
//
// The package knows keys, fingerprints and responses. It knows nothing of workflows and runs.
package idempotency
