// Package requests has what clients have sent and seen while servers, networks and clients fail, and the order in which
// it can have happened.
package requests
