//go:build race

package chaos

const (
	raceEnabled = true
	// largeRows keep a worker busy for so long that it can be caught at work.
	largeRows = 50_000
)
