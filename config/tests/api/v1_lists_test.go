package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestV1Lists(t *testing.T) {
	t.Parallel()

	t.Run("OnePage", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		cli := s.v1(s.Harbour.Tokens.Viewer)
		workflows, sizes := listV1[v1Workflow](t, cli, cli.workflowsAddress())
		if diff := cmp.Diff([]int{3}, sizes); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		for _, workflow := range workflows {
			for _, name := range []string{workflow.Slug, workflow.ID.String()} {
				alone := getV1[v1Workflow](t, cli, cli.workflowsAddress()+name+"/")
				if diff := cmp.Diff(workflow, alone); diff != "" {
					t.Errorf("%s (-listed +alone):\n%s", name, diff)
				}
			}
		}
	})

	t.Run("SeveralPages", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		cli := s.v1(s.Harbour.Tokens.Executor)
		found, sizes := listV1[v1Workflow](t, cli, cli.workflowsAddress()+"?page_size=2")
		if diff := cmp.Diff([]int{2, 1}, sizes); diff != "" || found[1].ID == found[2].ID {
			t.Errorf("workflows = %+v on pages of %v, want three of 2 and 1", found, sizes)
		}
	})
}
