//go:build !slow

package api

// isolationRequests is how many requests are looked at for traces of others.
const isolationRequests = 1_500
