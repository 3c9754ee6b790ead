// Package start starts validation runs, each exactly once: POST /api/workflows/{id}/start/, its form on the dashboard,
// and reruns.
//
// # The story
//
// A start is one *attempt on its way through one transaction, which carries its own outcome.
//
//  1. Prefetch looks up the workflow and the key in the round trip that authenticates the caller.
//  2. Guard.Keyed refuses a malformed or missing key. API.Start checks workflow and role, and reads the body to its
//     end.
//  3. Starter.Start answers from the key where it has an answer. Otherwise it checks what only concerns new runs,
//     chooses every id and renders the response.
//  4. The attempt is committed in a batch with those that arrive at the same time, in one transaction of one round
//     trip: insert the documents, claim the keys, charge the quotas, and insert the rows of what was granted. The
//     finished response is in the key's row from the beginning. Where the process has a slot for it, the run is
//     inserted with the lease of this process in place of a staged job, and executed after the commit
//     (execution.Local).
//     An attempt that was not granted is settled: answered from the key of another request, refused, or tried again.
//  5. The answer is written.
//
// # Outcomes
//
//   - The key was claimed and the quota had room: 201, and the run is there.
//   - Another request has the key: its response is replayed (201), or the key was used for another request (422), or
//     that request is still in progress (409). A request that was abandoned between two phases is resumed.
//   - The quota is used up: 429 and nothing is remembered. With overage billing the start goes on in phases
//     (overage.go).
//   - The database refused a row, could not answer, or a lock timed out: 500 or 503, and nothing happened.
//   - The connection or the server was lost during COMMIT: 503 outcome_unknown with the run's id. Only a request with a
//     key may be repeated. Nothing is executed here; if the run is there, the sweeper stages it when its lease ends.
//
// # Reading order
//
// view.go, start.go, attempt.go, batch.go, commit.go, settle.go; then overage.go and rerun.go for what differs there,
// and spent.go for what is settled before it is tried. The promises rest on claimQuery
// (core/idempotency/sql_claim.go) and on the usage counters (users/quota/sql_quota.go); why one message:
// docs/adr/0016-starts-in-one-round-trip.md.
package start
