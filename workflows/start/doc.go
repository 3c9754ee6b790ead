// Package start starts validation runs, each exactly once: POST /api/workflows/{id}/start/, its form on the dashboard,
// and reruns.
//
// # The story
//
// A start is one *attempt on its way through one transaction, which carries its own outcome.
//
//  1. Prefetch looks up the workflow and the key in the round trip that authenticates the caller.
//  2. API.Start checks key syntax, workflow and role, and reads the body to its end.
//  3. Starter.Start answers from the key where it has an answer. Otherwise it checks what only concerns new runs,
//     chooses every id and renders the response.
//  4. The attempt is committed in a batch with those that arrive at the same time. The transaction takes one round trip
//     if every key is free and every quota has room. Otherwise it is given up, and one of two round trips decides:
//     claim the keys and lock the usage counters and the documents of reruns (with BEGIN), then charge the quota in
//     order of arrival and insert what was granted (with COMMIT). A lost claim or the first start of a month takes one
//     more. The finished response is in the key's row from the beginning.
//     Where the process has a place for it, the run is inserted with the lease of this process in place of a staged
//     job, and executed after the commit (execution.Local).
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
// view.go, start.go, attempt.go, batch.go, commit.go; then overage.go and rerun.go for what differs there, and
// doubts.go for what is not tried in one round trip. The promises rest on claimQuery (core/idempotency/sql_claim.go)
// and on the usage counters (users/sql_quota.go).
package start
