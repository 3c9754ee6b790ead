// Package tasks moves staged jobs to the queue and runs what the queue delivers: the enqueuer, the worker, the
// scheduler of periodic work, and the loop that all background work is driven by.
//
// It is the only package that knows Redis as a queue. It does not decide whether anything is left to do: the database
// does, so Redis may lose, repeat or delay every task without a job being lost or done twice.
package tasks
