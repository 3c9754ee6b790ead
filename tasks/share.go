package tasks

import (
	"slices"

	"github.com/google/uuid"
)

// inFlight counts the tasks in the queue of jobs: those that wait for a worker, and those that a worker executes.
type inFlight struct {
	// waiting counts the tasks that no worker has taken yet.
	waiting int
	// finished counts the tasks that the workers are done with.
	finished int64
	// byOrg counts the tasks of each organization, waiting or executed.
	byOrg map[uuid.UUID]int
}

// room is how many tasks may be handed over now, so many of them ahead of the free slots. Nothing waits in the queue
// for long, because tasks in it are executed in the order of their arrival, whatever comes later: the backlog stays in
// the database, where the enqueuer can choose.
func (f inFlight) room(slots, ahead int) int {
	return max(0, ahead+free(slots, f)-f.waiting)
}

// free is how many slots of the workers no task has taken.
func free(slots int, f inFlight) int {
	taken := 0
	for _, n := range f.byOrg {
		taken += n
	}
	return max(0, slots-(taken-f.waiting))
}

// shareOut says how many tasks of each organization are handed over now, at most room in all.
//
// They are dealt out one by one. With n organizations at work none gets more than one part in n+1 of the slots, so that
// the next organization that comes finds a slot free: a single one has half of them, however much it has staged.
func shareOut(orgs []uuid.UUID, f inFlight, slots, room int) []int {
	atWork := len(f.byOrg)
	for _, org := range orgs {
		if f.byOrg[org] == 0 {
			atWork++
		}
	}
	most := max(1, slots/(atWork+1))
	shares := make([]int, len(orgs))
	for dealt := true; dealt && room > 0; {
		dealt = false
		for i, org := range orgs {
			if room > 0 && f.byOrg[org]+shares[i] < most {
				shares[i]++
				room--
				dealt = true
			}
		}
	}
	return shares
}

// lastServed is the last of the organizations that got a share. The next turn begins behind it.
func lastServed(orgs []uuid.UUID, shares []int) uuid.UUID {
	for i := len(orgs) - 1; i > 0; i-- {
		if shares[i] > 0 {
			return orgs[i]
		}
	}
	return orgs[0]
}

// interleave orders jobs so that the first job of each organization comes before any second one.
func interleave(staged []stagedJob) []stagedJob {
	type ranked struct {
		stagedJob

		rank int
	}
	seen := make(map[uuid.UUID]int)
	all := make([]ranked, len(staged))
	for i, s := range staged {
		all[i] = ranked{s, seen[s.job.OrgID]}
		seen[s.job.OrgID]++
	}
	slices.SortStableFunc(all, func(a, b ranked) int { return a.rank - b.rank })
	for i := range all {
		staged[i] = all[i].stagedJob
	}
	return staged
}
