package api

import (
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestCreateVersion(t *testing.T) {
	t.Parallel()
	s := setup(t)
	created := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusCreated, s.creation("", "grown")))
	address := "/api/workflows/" + created.ID + "/"
	author, _ := s.AddToken(t, s.Harbour, api.RoleOwner, api.RoleAuthor)
	addition := s.versionOf("v", "/api/workflows/grown/").By(author).With("Request-Id", "req-v")
	got := s.Must(t, http.StatusCreated, addition)
	second := fixture.Decoded[api.Workflow](t, got)

	t.Run("AnswersWithTheNextVersion", func(t *testing.T) {
		t.Parallel()
		want := created
		want.Version, want.UpdatedAt = 2, second.UpdatedAt
		if diff := cmp.Diff(want, second); diff != "" {
			t.Errorf("workflow (-version 1 +version 2):\n%s", diff)
		}
		fixture.WantHeader(t, got, map[string]string{
			"Location": address, "Content-Type": "application/json", "Idempotency-Key": "v",
			"Cache-Control": "no-store", "Idempotent-Replayed": "",
		})
		shown := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusOK, call{Path: address, Token: author}))
		if diff := cmp.Diff(second, shown); diff != "" {
			t.Errorf("workflow (-answered +shown):\n%s", diff)
		}
	})

	t.Run("RemembersWhoDidIt", func(t *testing.T) {
		t.Parallel()
		s.WantAudit(t, "workflow.create_version", "workflow", created.ID, "req-v", "version 2")
	})

	t.Run("LeavesTheOldOneAsItWas", func(t *testing.T) {
		t.Parallel()
		old := fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusOK,
			call{Path: address + "?version=1", Token: author}))
		want := created
		want.UpdatedAt = second.UpdatedAt
		if diff := cmp.Diff(want, old); diff != "" {
			t.Errorf("version 1 (-created +shown):\n%s", diff)
		}
	})
}

func TestRunsKeepTheirVersion(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.Must(t, http.StatusCreated, s.creation("", "kept"))
	start := func(key, query string) call {
		c := s.Start(t, key).To("/api/workflows/kept/start/" + query)
		// It has what version 1 requires and not what version 2 does.
		return c.WithBody("application/json", `{"site":1}`)
	}
	first := s.Must(t, http.StatusCreated, start("old", ""))
	s.Must(t, http.StatusCreated, s.versionOf("", "/api/workflows/kept/"))
	old := fixture.Decoded[api.Run](t, first)
	latest, pinned := s.Started(t, start("latest", "")), s.Started(t, start("pinned", "?version=1"))
	rerun := s.Started(t, s.Rerun("", old.ID))

	fixture.WantReplay(t, first, s.Do(t, start("old", "")))
	s.Refused(t, api.CodeKeyReused, start("old", "?version=1"))
	s.Refused(t, api.CodeNotFound, start("none", "?version=3"))
	s.Work(t)
	for name, tt := range map[string]struct {
		id      string
		version int
		result  api.RunResult
	}{
		"started before": {old.ID, 1, api.RunResultPass}, "started after": {latest.ID, 2, api.RunResultFail},
		"pinned": {pinned.ID, 1, api.RunResultPass}, "repeated": {rerun.ID, 1, api.RunResultPass},
	} {
		if run := s.shown(t, tt.id); run.WorkflowVersion != tt.version || run.Result != tt.result {
			t.Errorf("run %s = version %d %s, want version %d %s",
				name, run.WorkflowVersion, run.Result, tt.version, tt.result)
		}
	}
	if _, err := s.DB.Pool.Exec(t.Context(), `UPDATE definitions SET created_at = now()`); err == nil {
		t.Error("a definition was changed, want it to be immutable")
	}
}

func TestConcurrentVersionsAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	const rivals = 16
	s := setup(t)
	calls := make([]call, 0, 2*rivals)
	for i := range rivals {
		c := s.versionOf("v-"+strconv.Itoa(i), "/api/workflows/building/")
		c = c.WithBody("application/json", versionBody("member"+strconv.Itoa(i)))
		calls = append(calls, c, c)
	}
	got := s.Together(t, calls)
	numbers := make(map[int]bool)
	for i, answer := range got {
		if answer.Status != http.StatusConflict {
			numbers[fixture.Decoded[api.Workflow](t, answer).Version] = true
			continue
		}
		wantRetryLater(t, answer, api.CodeKeyInProgress, 60)
		numbers[fixture.Decoded[api.Workflow](t, s.Must(t, http.StatusCreated, calls[i])).Version] = true
	}
	want := make(map[int]bool)
	for number := 2; number <= rivals+1; number++ {
		want[number] = true
	}
	if diff := cmp.Diff(want, numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	stored := coretest.One[[]int](t, s.DB, `SELECT array_agg(number ORDER BY number) FROM workflow_versions
		WHERE workflow_id = $1`, s.Harbour.Workflows[0].ID)
	if len(stored) != rivals+1 || stored[0] != 1 || !slices.IsSorted(stored) || stored[rivals] != rivals+1 {
		t.Errorf("stored versions = %v, want 1 to %d", stored, rivals+1)
	}
}
