// Package guides holds the documentation to its word. What a page shows as a session is executed, in the order of the
// page, and its output compared; the programs that it offers are run against a service that breaks; and every other
// block of code is at least read by the program that it is written for. All of it is tests.
//
// Nothing here is part of the service.
package guides
