// Package postgres has PostgreSQL servers for tests that break them: a primary with its standby, and what servers stand
// on, a disk that can fail and a clock that can be moved.
package postgres
