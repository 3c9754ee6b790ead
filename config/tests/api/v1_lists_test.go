package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestV1Lists(t *testing.T) {
	t.Parallel()

	t.Run("Empty", func(t *testing.T) {
		t.Parallel()
		s := setup(t)
		s.Exec(t, `WITH parents AS (DELETE FROM workflows) DELETE FROM workflow_versions`)
		cli := s.v1(s.Harbour.Tokens.Viewer)
		found, sizes := listV1[v1Workflow](t, cli, cli.workflowsAddress())
		if diff := cmp.Diff([]int{0}, sizes); diff != "" || len(found) != 0 {
			t.Errorf("workflows = %v in pages of %v, want none on one page", found, sizes)
		}
	})

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
				alone := mustV1[v1Workflow](t, cli, cli.workflowsAddress()+name+"/")
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

// TestV1Commands goes through the commands of the existing client in the order of a first day.
func TestV1Commands(t *testing.T) {
	t.Parallel()
	s := setup(t)
	cli := s.v1(s.Harbour.Tokens.Executor)
	orgs, _ := listV1[v1Org](t, cli, "/api/v1/orgs/")
	cli.org = orgs[0].Slug
	workflows, _ := listV1[v1Workflow](t, cli, cli.workflowsAddress())
	for _, workflow := range workflows {
		mustV1[v1Workflow](t, cli, cli.workflowsAddress()+workflow.Slug+"/?version=1&project=tower")
	}
	for name, upload := range map[string]v1Upload{
		"ByID": {workflow: workflows[len(workflows)-2].ID.String()},
		"WithEverything": {
			workflow: "meter-readings", query: "version=1&project=tower", options: []string{
				"name", "March", "metadata", `{"deliverable":"handover"}`, "short_description", "of two meters",
			},
		},
	} {
		upload.filename, upload.content = "März \"3\"; x.csv", fixture.SampleText(t, "good/meter-readings.csv")
		started, err := cli.validate(t, upload)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		polls := 0
		run := cli.wait(t, started.ID.String(), func() {
			polls++
			if polls == 2 {
				s.Work(t)
			}
		})
		if polls != 2 || run.exit() != 0 || run.WorkflowSlug != "meter-readings" {
			t.Errorf("%s: run of %s = exit %d after %d polls, want 0 after 2",
				name, run.WorkflowSlug, run.exit(), polls)
		}
	}
}

// TestV1Refusals takes every branch of the existing client on what is not a success.
func TestV1Refusals(t *testing.T) {
	t.Parallel()
	s := setup(t, func(settings *config.Settings) { settings.MaxBodyBytes = 1 << 20 })
	as := s.v1
	executor := as(s.Harbour.Tokens.Executor)
	good := v1Upload{
		workflow: "meter-readings", filename: "m.csv", content: fixture.SampleText(t, "good/meter-readings.csv"),
	}
	with := func(change func(*v1Upload)) v1Upload {
		upload := good
		change(&upload)
		return upload
	}
	tiny := v1Client{stage: s, token: s.Tiny.Tokens.Executor, org: "tiny-quota"}
	for range 3 {
		if _, err := tiny.validate(t, good); err != nil {
			t.Fatal(err)
		}
	}
	foreign := executor
	foreign.org = "tiny-quota"
	for name, tt := range map[string]struct {
		cli    v1Client
		upload v1Upload
		want   string
		detail string
	}{
		"BadToken":   {as("sv_x"), good, "Authentication failed.", ""},
		"Viewer":     {as(s.Harbour.Tokens.Viewer), good, "Access denied.", ""},
		"ForeignOrg": {foreign, good, "Resource not found.", ""},
		"UnknownWorkflow": {
			executor, with(func(u *v1Upload) { u.workflow = "../x" }),
			"Resource not found.", "",
		},
		"UnknownVersion": {
			executor, with(func(u *v1Upload) { u.query = "version=9" }),
			"Resource not found.", "",
		},
		"Inactive": {
			executor, with(func(u *v1Upload) { u.workflow = "legacy-import" }),
			"API error (HTTP 422)", "inactive",
		},
		"OverQuota": {tiny, good, "API error (HTTP 429)", "3 of 3 runs are used"},
		"Empty":     {executor, with(func(u *v1Upload) { u.content = "" }), "API error (HTTP 400)", "empty"},
		"BadMetadata": {
			executor, with(func(u *v1Upload) { u.options = []string{"metadata", "x"} }),
			"API error (HTTP 400)", "Metadata is not usable",
		},
		"OtherType": {
			executor, with(func(u *v1Upload) { u.filename = "m.xml" }),
			"API error (HTTP 415)", "application/xml",
		},
		"TooLarge": {
			executor, with(func(u *v1Upload) { u.content = strings.Repeat("x", 1<<20) }),
			"API error (HTTP 413)", "larger",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tt.cli.validate(t, tt.upload)
			refusal, refused := errors.AsType[*v1Error](err)
			if !refused || refusal.message != tt.want || !strings.Contains(refusal.detail, tt.detail) {
				t.Errorf("error = %v, want %q with %q", err, tt.want, tt.detail)
			}
		})
	}
	cli := as(s.Harbour.Tokens.Viewer)
	for _, address := range []string{
		cli.runAddress(unknownID), cli.runAddress("abc123"), cli.runAddress("../../x"), cli.workflowsAddress() + "123/",
		cli.workflowsAddress() + "nothing/", foreign.workflowsAddress(),
	} {
		if _, err := getV1[v1Run](t, cli, address); err == nil || err.Error() != "Resource not found." {
			t.Errorf("GET %s: %v, want that it is not found", address, err)
		}
	}
}
