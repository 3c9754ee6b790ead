package crash

import (
	"slices"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestAbandonedUpload kills the server when all of a large document is there and nothing of its run.
func TestAbandonedUpload(t *testing.T) {
	t.Parallel()
	all := flows()
	s := newStage(t, all[slices.IndexFunc(all, func(f flow) bool { return f.name == "large" })])
	s.strike(t, at{name: sealed, nth: 1}, killAfter)
	s.launch(t)
	program.Receive(t, "the fault strikes", s.struck)
	s.release(t)
	const uploads = "SELECT count(*) FROM uploads"
	if got, runs := program.Count(t, s.DB, uploads), program.Count(t, s.DB, allRuns); got != 1 || runs != 0 {
		t.Errorf("%d uploads and %d runs, want one and none", got, runs)
	}
	s.passTime(t)
	s.work(t)
	program.Await(t, "the upload is swept", func() bool { return program.Count(t, s.DB, uploads) == 0 })
	s.conclude(t)
}
