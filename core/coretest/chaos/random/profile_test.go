package random

import "time"

// profile is how much is to happen, and how much has to have happened for a run to count.
type profile struct {
	long    time.Duration
	clients int
	// pace is the pause of a client between two orders, at most.
	pace time.Duration
	// mixed begins with the previous release, releases and migrations are how often servers are replaced and the schema
	// becomes that of this release, and leaving is how many organizations may leave.
	mixed                         bool
	releases, migrations, leaving int
	// quota is that of the organizations that have little.
	quota int
	// attempts are those of clients, and struck how many faults of a name.
	attempts int
	struck   map[string]int
	// sometimes has to have happened at least once.
	sometimes []string
}

func profiles() map[string]profile {
	sometimes := []string{
		"0 ", "201 ", "replayed", "409 idempotency_key_in_progress", "422 idempotency_key_reused", "429 quota_exceeded",
		"unknown and started", "unknown and not started", "charged", "used again after the expiry", "told again",
		"kept out", "validator asked again", "503 unavailable", "503 outcome_unknown",
		"run taken over", "run swept",
	}
	return map[string]profile{
		"short": {
			long: 100 * time.Second, clients: 40, pace: 400 * time.Millisecond, releases: 8, leaving: 2,
			quota: 60, attempts: 1500, sometimes: sometimes,
			struck: map[string]int{"kill": 15, "freeze": 2, "PostgreSQL": 1, "Redis": 1, "network": 3},
		},
		"mixed": {
			long: 2 * time.Minute, clients: 40, pace: 400 * time.Millisecond, mixed: true, releases: 40,
			migrations: 10, quota: 60, attempts: 1500, sometimes: sometimes,
			struck: map[string]int{"kill": 15, "SIGTERM": 8, "network": 3, "migration": 1},
		},
		"long": {
			long: time.Hour, clients: 200, pace: 2 * time.Second, releases: 8, leaving: 6, quota: 60,
			attempts: 300_000, sometimes: append(sometimes, "begun", "SQLSTATE 25P03", "SQLSTATE 57P01",
				"suspended", "gone", "moved", "deleted"),
			struck: map[string]int{
				"kill": 600, "freeze": 100, "crash of PostgreSQL": 50, "failover": 30, "Redis": 80, "network": 130,
				"commits": 40, "disk": 15, "flush": 15, "standby": 15, "read-only": 15, "clock": 15, "month": 8,
				"suspension": 15, "leaves": 6, "flood": 15, "slow readers": 15,
			},
		},
	}
}
