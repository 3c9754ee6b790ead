// Package program builds the program once and lets tests run it as operators do: as processes on real databases, with
// settings from their environment, asked over HTTP and by its command line. It also holds what must be true of the
// database whatever has happened to the processes.
//
// With Main the program has the race detector where the tests have it. Set TEST_PROGRAM to the path of a binary to test
// that one. Nothing here is part of the service.
package program
