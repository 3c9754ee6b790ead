//go:build !slow

package chaos

// How much of everything there is: enough to be representative and yet done in seconds.
const (
	serverKills   = 3
	embeddedKills = 2
	pendingRuns   = 200
	redisLosses   = 1
	takeovers     = 1
	// importKills bounds the tables at which an import is killed.
	importKills = 2
	// deletionKills bounds those at which a deletion is killed.
	deletionKills = 3
	// A server lives until it has answered between leastLife and mostLife keys.
	leastLife, mostLife = 5, 20
)
