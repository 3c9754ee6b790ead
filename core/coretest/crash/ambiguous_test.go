package crash

import (
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// TestAmbiguousCommit breaks the connection at the commit of a start, or has the server tell that it fails, in one case
// before the commit and in the other after. Nobody can tell the two apart, and to the client they come to the same.
func TestAmbiguousCommit(t *testing.T) {
	t.Parallel()
	for f, committed := range map[fault]int{
		dropBefore: 0, dropAfter: 1, panicBefore: 0, panicAfter: 1, fatalBefore: 0, fatalAfter: 1,
	} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			s := newStage(t, flows()[0])
			s.strike(t, s.flow.places()[0], f)
			s.launch(t)
			s.sending.Wait()
			if len(s.refused) != 1 {
				t.Fatalf("refusals = %+v, want one", s.refused)
			}
			told := program.WantProblem(t, s.refused[0], 503, api.CodeOutcomeUnknown)
			named, err := uuid.Parse(told.RunID)
			if err != nil || !told.Retryable {
				t.Errorf("problem = %+v, want one that names the run and asks for a retry", told)
			}
			if got := program.Count(t, s.DB, allRuns+" WHERE id = $1", named); got != committed {
				t.Errorf("runs with the id that was told = %d, want %d", got, committed)
			}
			again := s.ask(t)
			if again.Replayed() != (committed == 1) {
				t.Errorf("replayed = %t, want that the retry of a lost commit is a first answer and else a replay",
					again.Replayed())
			}
			s.conclude(t)
		})
	}
}
