//go:build !race

package chaos

const (
	raceEnabled = false
	// largeRows keep a worker busy for so long that it can be caught at work.
	largeRows = 300_000
)
