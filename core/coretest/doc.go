// Package coretest is for tests alone: it gives each test a migrated PostgreSQL database and a Redis of its own.
//
// A package whose tests use a database calls Main from its TestMain. Then a lone `go test` of the package starts a
// throw-away server for it, while `go run ./core/coretest/withpostgres -- go test ./...` lets all packages share one.
// What many tests of a package need in their database, a Template is filled with once. Prepare fills large tables.
// On a slow machine tests take longer and stay green: only ConnectWithin gives statements little time.
// Nothing is skipped where a server is missing: the tests fail and say what to install.
package coretest
