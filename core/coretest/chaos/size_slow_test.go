//go:build slow

package chaos

// How much of everything there is in the long form.
const (
	serverKills   = 50
	embeddedKills = 20
	pendingRuns   = 1000
	redisLosses   = 10
	takeovers     = 5
	// importKills bounds the tables at which an import is killed.
	importKills = 100
)
