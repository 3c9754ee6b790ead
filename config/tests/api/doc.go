// Package api tests the API over HTTP: every operation, who may call it, what it answers to bad requests, and that all
// of it is as the OpenAPI document says.
package api
