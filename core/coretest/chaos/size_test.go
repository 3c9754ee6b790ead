//go:build !slow

package chaos

// How much of everything there is: enough to be representative and yet done in seconds.
const (
	serverKills   = 5
	embeddedKills = 3
	pendingRuns   = 200
	redisLosses   = 1
	takeovers     = 1
	// importKills bounds the tables at which an import is killed.
	importKills = 4
)
