//go:build slow

package clients

// stormStarts is how many runs each client starts in a storm.
const stormStarts = 500
