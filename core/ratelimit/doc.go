// Package ratelimit limits how often a client may do something: Local within one process, Shared for all processes
// together.
//
// It protects the service and is not a quota. A limit that cannot be checked is not enforced.
package ratelimit
