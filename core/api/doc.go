// Package api has the bodies of the REST API, once for the service that writes them and the clients that read them.
// types.go is generated from the OpenAPI document: run go generate ./core/client after a change of it.
package api
