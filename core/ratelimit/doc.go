// Package ratelimit says when somebody asks too often: Local within one process, Shared for all processes together.
//
// It protects the service and is no quota. A limit that cannot be checked is not enforced.
package ratelimit
