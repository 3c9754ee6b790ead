// Package operations tests the program as operators run it: how processes start and stop, and what they report; several
// servers behind nginx on one PostgreSQL and one Redis, a PgBouncer between, a PostgreSQL that loses its standby or
// fails over to it, a Redis with sentinels and a Redis cluster; and what the largest documents take of memory. The
// programs are real ones, with the product's own deployment files where it has some. What must hold whatever happens is
// checked in the database afterwards.
//
// Most of it has the build tag slow. The figures of the guides are what the tests log. Nothing here is part of the
// service.
package operations
