//go:build race

package chaos

// largeRows keep a worker busy for so long that it can be caught at work.
const largeRows = 50_000
