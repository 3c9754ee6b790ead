// Package clients holds the clients of the REST API in Go, Python and TypeScript to one table of cases, cases.json.
// Each case goes to a live service through a proxy that fails on command. Nothing here is part of the service.
//
// # Drivers
//
// A driver executes commands with one client. The Go driver works in the test's process. The others are programs that
// read one Command per line as JSON on standard input and write one Outcome per line on standard output, flushed, in
// any order: commands run concurrently, and the caller limits how many. A driver keeps one client for each combination
// of base URL, token and options, so that concurrent commands share a client. It ends when its input ends. See Command
// and Outcome for the members; an absent member may be left out or null, and a driver ignores members it does not know.
//
// # Key files
//
// A key is kept across restarts by a file. Each client has one function for it (Go KeyFromFile, Python key_from_file,
// TypeScript keyFromFile), whose result is passed as the key of a start or rerun:
//
//   - If the file exists, its content without the line break at its end is the key. A file whose content is no key (1
//     to 255 characters from "!" to "~") is an error, because a new key could start a second run.
//   - Otherwise a new UUIDv7 is written to a temporary file in the same folder, flushed to disk, and given its name by
//     link(2), which fails if the name exists; then the folder is flushed. Of two processes that race, both return the
//     key of the winner. The temporary file is removed.
//   - The client never removes the file. One file stands for one piece of work; the caller removes it once the run's id
//     is stored elsewhere.
//
// A command with key_file calls that function and starts with the key.
package clients
