// Package chaos holds tests that start the program as operators do, drive it over HTTP and its command line, and kill,
// freeze and rob it meanwhile. What must hold whatever happens is checked in the database afterwards.
//
// The tag slow makes the tests longer; nothing here is part of the service.
package chaos
