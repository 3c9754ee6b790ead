package guides

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// pipelines is an installation that jobs use.
type pipelines struct {
	installation *program.Installation
	action       action
	address      string
}

// setupPipelines serves with the arguments, and enough to wait for nothing long.
func setupPipelines(tb testing.TB, args ...string) pipelines {
	tb.Helper()
	installation := program.Install(tb)
	return pipelines{
		installation: installation, action: readAction(tb),
		address: program.Serve(tb, installation.Settings, args...).URL(),
	}
}

// inputs are those of a job that validates readings, with others added or changed.
func (p pipelines) inputs(files string, changed ...string) map[string]string {
	given := map[string]string{
		"binary": os.Getenv("TEST_PROGRAM"), "files": files, "workflow": "meter-readings",
		"url": p.address, "token": p.installation.Harbour.Tokens.Executor,
	}
	for i := 0; i < len(changed); i += 2 {
		given[changed[i]] = changed[i+1]
	}
	return given
}

func (p pipelines) wantRuns(tb testing.TB, want int) {
	tb.Helper()
	const query = `SELECT count(*) FROM validation_runs`
	if runs := program.Count(tb, p.installation.DB, query); runs != want {
		tb.Errorf("runs = %d, want %d", runs, want)
	}
}

const (
	goodReadings = "docs/samples/good/meter-readings.csv"
	badReadings  = "docs/samples/bad/meter-readings.csv"
)

// TestActionTellsResults has the action validate, and be re-run.
func TestActionTellsResults(t *testing.T) {
	t.Parallel()
	p := setupPipelines(t)

	first := setupJob(t, "1").use(t, p.action, p.inputs(goodReadings))
	first.want(t, 0, "passed")
	p.wantRuns(t, 1)
	again := setupJob(t, "2").use(t, p.action, p.inputs(goodReadings))
	again.want(t, 0, "passed")
	if again.outputs["run-ids"] != first.outputs["run-ids"] || len(first.outputs["run-ids"]) != 36 {
		t.Errorf("run = %q, then %q, want one", first.outputs["run-ids"], again.outputs["run-ids"])
	}
	p.wantRuns(t, 1)

	j := setupJob(t, "1")
	failed := j.use(t, p.action, p.inputs(badReadings, "reports", "found.sarif\nfound.xml\n"))
	failed.want(t, 1, "failed", "::error file="+badReadings+",line=5,col=31,title=csv.type.number::")
	if !strings.Contains(failed.summary, "csv.type.number") {
		t.Errorf("summary = %s, want the findings", failed.summary)
	}
	for name, text := range map[string]string{"found.sarif": `"2.1.0"`, "found.xml": "<testsuite"} {
		report, err := os.ReadFile(filepath.Join(j.dir, name))
		if err != nil || !strings.Contains(string(report), text) {
			t.Errorf("report %s = %s, %v, want %s in it", name, report, err, text)
		}
	}
	p.wantRuns(t, 2)

	all := setupJob(t, "1").use(t, p.action, p.inputs("docs/samples/*/meter-readings.csv"))
	all.want(t, 1, "failed")
	if ids := strings.Fields(all.outputs["run-ids"]); len(ids) != 3 {
		t.Errorf("runs = %q, want 3", ids)
	}
	p.wantRuns(t, 3)

	other := setupJob(t, "2").use(t, p.action, p.inputs(goodReadings, "key-prefix", "gh-4711-2"))
	other.want(t, 0, "passed")
	p.wantRuns(t, 4)
}

// TestActionTellsSlowFromFailed has the action stop waiting while nobody executes the run, and wait for the same run
// again when somebody does.
func TestActionTellsSlowFromFailed(t *testing.T) {
	t.Parallel()
	p := setupPipelines(t, "--only", "web")

	slow := setupJob(t, "1").use(t, p.action, p.inputs(badReadings, "timeout", "1s"))
	slow.want(t, 4, "slow", "::error title=SimpleValidations::A run was still going on after 1s")
	if !strings.Contains(slow.summary, "**slow**") {
		t.Errorf("summary = %s, want it to say that it was slow", slow.summary)
	}
	setupJob(t, "1").use(t, p.action, p.inputs(badReadings, "timeout", "1s", "on-slow", "pass")).
		want(t, 0, "slow", "::warning title=SimpleValidations::")
	p.wantRuns(t, 1)

	program.Launch(t, p.installation.Settings, "", "serve", "--only", "worker")
	program.Launch(t, p.installation.Settings, "", "serve", "--only", "scheduler")
	later := setupJob(t, "2").use(t, p.action, p.inputs(badReadings, "timeout", "1m"))
	later.want(t, 1, "failed")
	if later.outputs["run-ids"] != slow.outputs["run-ids"] {
		t.Errorf("run = %q, then %q, want one", slow.outputs["run-ids"], later.outputs["run-ids"])
	}
	p.wantRuns(t, 1)
}

// TestActionTellsErrors has the action fail for reasons that are not the document's.
func TestActionTellsErrors(t *testing.T) {
	t.Parallel()
	p := setupPipelines(t, "--only", "web")
	const workflowFile = "docs/samples/workflows/meter-readings.yaml"
	for name, tt := range map[string]struct {
		given  map[string]string
		code   int
		result string
		text   string
	}{
		"BadToken":    {p.inputs(badReadings, "token", "sv_unknown"), 5, "error", "The token is not known"},
		"Unreachable": {p.inputs(badReadings, "url", "http://"+coretest.FreeAddress(t)), 7, "error", "did not answer"},
		"NoWorkflow":  {p.inputs(badReadings, "workflow", ""), 2, "error", "name a workflow"},
		"NoFile":      {p.inputs("docs/samples/none.csv"), 2, "error", "no such file"},
		"NoPattern":   {p.inputs("docs/*.none"), 2, "error", "there is no file docs/*.none"},
		"Refused":     {p.inputs("docs/samples/bad/building.json"), 2, "error", "used wrongly"},
		"NoSlow":      {p.inputs(badReadings, "on-slow", "x"), 2, "error", "on-slow is fail or pass"},
		"CheckPasses": {p.inputs(goodReadings, "workflow", "", "workflow-file", workflowFile), 0, "passed", ""},
		"CheckFails": {
			p.inputs(badReadings, "workflow", "", "workflow-file", workflowFile), 1, "failed", "::error file=",
		},
		"NotAnOption":  {p.inputs("-x\n" + goodReadings), 2, "error", "no such file"},
		"CheckMissing": {p.inputs(goodReadings, "workflow", "", "workflow-file", "none"), 2, "error", "used wrongly"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setupJob(t, "1").use(t, p.action, tt.given).want(t, tt.code, tt.result, tt.text)
			p.wantRuns(t, 0)
		})
	}
}

// gitLabJob is the job that the guide to pipelines offers.
type gitLabJob struct {
	Variables    map[string]string `yaml:"variables"`
	Script       []string          `yaml:"script"`
	AllowFailure struct {
		ExitCodes []int `yaml:"exit_codes"`
	} `yaml:"allow_failure"`
}

func readGitLabJob(tb testing.TB) gitLabJob {
	tb.Helper()
	for _, b := range blocksOf(tb, "docs/guides/pipelines.md") {
		if b.heading != "GitLab" || b.language != "yaml" {
			continue
		}
		var file map[string]gitLabJob
		if err := yaml.Unmarshal([]byte(b.code), &file); err != nil {
			tb.Fatal(err)
		}
		return file["validate"]
	}
	tb.Fatal("the guide offers no job")
	return gitLabJob{}
}

// run runs the script of the job as a runner does, and reports its exit code and what it printed.
func (g gitLabJob) run(tb testing.TB, p pipelines, jobID string, variables ...string) (int, string) {
	tb.Helper()
	dir := workplace(tb)
	cmd := exec.CommandContext(tb.Context(), "bash", "-eo", "pipefail", "-c", strings.Join(g.Script, "\n"))
	cmd.Dir = dir
	cmd.Env = plainEnviron(dir, "GITLAB_CI=true", "CI_PIPELINE_ID=8", "CI_JOB_ID="+jobID)
	for _, name := range slices.Sorted(maps.Keys(g.Variables)) {
		cmd.Env = append(cmd.Env, name+"="+os.Expand(g.Variables[name], func(name string) string {
			return map[string]string{"CI_PIPELINE_ID": "8", "CI_JOB_ID": jobID}[name]
		}))
	}
	cmd.Env = append(append(cmd.Env, "SV_URL="+p.address, "SV_TOKEN="+p.installation.Harbour.Tokens.Executor),
		variables...)
	output, _ := cmd.CombinedOutput() // The exit code says how it went.
	return cmd.ProcessState.ExitCode(), string(output)
}

// TestGitLabJob runs the job of the guide. Where it is slow it may fail, which GitLab shows as a warning, and a retry
// finds the same run.
func TestGitLabJob(t *testing.T) {
	t.Parallel()
	p := setupPipelines(t, "--only", "web")
	g := readGitLabJob(t)
	want := func(code, got int, output string) {
		t.Helper()
		if got != code {
			t.Errorf("exit code = %d, want %d; output %s", got, code, output)
		}
	}
	code, output := g.run(t, p, "1", "FILES="+badReadings, "WAIT=1s")
	want(4, code, output)
	if !slices.Equal(g.AllowFailure.ExitCodes, []int{4}) || !strings.Contains(output, "the run continues") {
		t.Errorf("allowed exit codes = %d, output %s, want that of a slow run alone", g.AllowFailure.ExitCodes, output)
	}
	program.Launch(t, p.installation.Settings, "", "serve", "--only", "worker")
	program.Launch(t, p.installation.Settings, "", "serve", "--only", "scheduler")
	code, output = g.run(t, p, "2", "FILES="+badReadings)
	want(1, code, output)
	p.wantRuns(t, 1)
	code, output = g.run(t, p, "3", "FILES="+goodReadings)
	want(0, code, output)
	code, output = g.run(t, p, "4", "FILES="+badReadings, "SV_URL=http://"+coretest.FreeAddress(t))
	want(7, code, output)
	p.wantRuns(t, 2)
}
