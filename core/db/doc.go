// Package db holds all access to PostgreSQL: one pool, and the ways to use it.
//
// Which one when:
//
//   - DB.Pool runs a single statement outside of a transaction.
//   - Loader looks up one row by a key for every request, such as its token or its idempotency key. Concurrent requests
//     share the statement and the round trip.
//   - Reads collects the statements of a page or a list into one round trip.
//   - InTx runs a transaction whose statements depend on each other's answers, and Do one that returns nothing.
//   - InPipeline is InTx in two round trips, for hot paths: what is known beforehand travels with BEGIN, what is
//     written last travels with COMMIT. InBatch is InTx in one. Its later statements can be kept to what the earlier
//     ones have granted (Granted).
//   - InGormTx and DoGorm are the same for transactions that also write models, as those of users do
//     (docs/adr/0008-gorm-and-pgx.md). GORM goes through database/sql, and nothing hot does.
//
// A Future is the answer to a statement that was queued, and is there once its batch or loader was sent. Every
// statement has a deadline (docs/adr/0009-deadlines-of-statements.md), unless Unlimited says otherwise.
//
// An error of COMMIT is ErrOutcomeUnknown unless the server has certainly rolled back: the transaction may have
// happened, and nothing is repeated. The functions in errors.go say what other errors mean.
package db
