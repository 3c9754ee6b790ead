//go:build slow

package config_test

// isolationRequests is how many requests are looked at for traces of others.
const isolationRequests = 100_000
