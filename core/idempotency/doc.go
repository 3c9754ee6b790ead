// Package idempotency makes a request that carries an Idempotency-Key happen at most once.
//
// A key is used once per organization and endpoint within its lifetime. Its first request claims the key inside the
// transaction that does the work, and stores the finished response there. From then on the same request gets that
// response, and any other request is refused. What did not commit left nothing behind, so a refused or failed request
// may be sent again under the same key.
//
// # Two kinds of endpoints
//
// Both are routed through Guard.Keyed. An endpoint whose work is one transaction hands it to Guard.Once. One that has
// to call another service before it can answer is a Flow: its first transaction claims the key and sets a recovery
// point, an Engine drives it from there phase by phase, and a Completer finishes what its client has abandoned. Starts
// of runs do the work of Guard.Once for many requests in one transaction (QueueClaims, QueueWithdrawals), and are a
// Flow beyond the quota.
//
// # What the guarantees rest on
//
//   - One use of a key: the unique constraint uq_idempotency_org_key_endpoint, and the claim in sql_claim.go.
//   - One holder at a time: the epoch. Every transaction of a holder begins with a statement that names the epoch under
//     which the key was locked (sql_phases.go), so a holder whose lock was taken over has no effect.
//   - One answer: the response is stored as bytes in the transaction that has the effects.
//
// # Reading order
//
// key.go, middleware.go, guard.go, fingerprint.go, sql_claim.go, decide.go, answer.go and once.go for the common case;
// then phases.go and completer.go.
//
// The package knows keys, fingerprints and responses. It does not know what the requests create; a Claim refers to it
// as its Subject. What people see of the keys is in core/idempotency/admin.
package idempotency
