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
	// deletionKills bounds those at which a deletion is killed.
	deletionKills = 100
	// A server lives until it has answered between leastLife and mostLife keys.
	leastLife, mostLife = 5, 60
)
