// Package conformance holds the contract of idempotent requests as tests: one file and one table for each part of it,
// one named case for each sentence. Two servers share a database, and the tests know them by HTTP and the command line
// alone; they look into the database only to see effects that have no answer, and to let time pass.
//
// Nothing here is part of the service.
package conformance
