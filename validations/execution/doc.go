// Package execution executes runs: from a lease to stored findings, exactly one result for each run.
//
// # What happens, in reading order
//
//   - A run that its own process executes is born leased: the start has acquired a Slot (local.go), its transaction
//     has inserted the run with the lease of the process (validations.Service.Create), and the document is in memory.
//   - Any other start has inserted the run and a staged job with the run's epoch. The enqueuer has moved the job to the
//     queue, and a worker calls Execute (execute.go).
//   - acquire takes the lease (sql_lease.go): one conditional update raises the epoch, counts the attempt and sets the
//     time when the lease ends. A job with another epoch, and a run that is leased or completed, change nothing, so
//     the queue may deliver a job twice, late or never.
//   - While the steps run, a heartbeat renews the lease. If the update finds another epoch, the execution stops.
//   - Each step runs in its engine, with a time limit, when a slot is free (step.go). Steps of the kind http call an
//     external validator (external.go): one logical call for each step, whose row says how far it is
//     (sql_external_calls.go). If the validator promises its answer, the run gives its lease back until the callback
//     (callback.go) or the deadline.
//   - commitStep writes the step's result, its findings and the run's recovery point in one transaction, fenced by the
//     epoch (commit.go, sql_commit.go). The last step completes the run in the same transaction. Steps of different
//     runs that end at about the same time share it (batcher.go).
//   - A document is read from its submission, or chunk by chunk from its upload (document.go).
//
// # What holds when something fails
//
// The sweeper (sql_sweep.go) stages runs again whose job was lost or whose lease has ended, each under a new epoch.
// A process that stops stages the runs that it has not executed itself (handOver in sql_lease.go).
// The next execution begins at the recovery point, so a committed step never runs again. After Config.MaxAttempts the
// run ends in ERROR. A run that the service could not check never ends in FAIL: that result is about the document.
//
// Cancel (sql_commit.go) raises the epoch as well; whatever the old holder still finds is not written.
//
// Checker (check.go) runs the same engines without a database, for the check command.
package execution
