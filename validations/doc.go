// Package validations keeps submissions, runs, step runs and findings.
//
// A run stores the digest of the definition that it executes, so it needs no workflow, and editing a workflow never
// changes what an earlier run has checked.
//
// In reading order: models.go and definition.go; intake.go takes documents in, create.go prepares a run and adds its
// rows to the transaction of a start, by the statements of sql_create.go. list.go and the other sql_ files read what is
// shown, run_body.go is a run as clients see it and shown.go as pages do, sql_purge.go is retention.
//
// Package execution executes runs, and package web shows them. The packages below this one know nothing of runs:
// engines checks documents, external calls validators of other services, formats writes reports.
package validations
