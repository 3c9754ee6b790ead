// Package scaling holds tests of installations that have grown: several servers behind nginx on one PostgreSQL and one
// Redis, a PgBouncer between, a PostgreSQL that fails over to its standby, a Redis with sentinels and a Redis cluster;
// and what the largest documents take of memory.
// The programs are real ones, with the product's own deployment files where it has some. What must hold whatever
// happens is checked in the database afterwards.
//
// All of it has the build tag slow. The figures of the guides are what the tests log. Nothing here is part of
// the service.
package scaling
