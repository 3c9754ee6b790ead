package guides

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const actionFolder = repository + "/.github/actions/validate"

// action is an action.yml. What is not here is not allowed in one, so that a misspelled member is noticed.
type action struct {
	Name        string                  `yaml:"name"`
	Description string                  `yaml:"description"`
	Author      string                  `yaml:"author"`
	Branding    map[string]string       `yaml:"branding"`
	Inputs      map[string]actionInput  `yaml:"inputs"`
	Outputs     map[string]actionOutput `yaml:"outputs"`
	Runs        actionRuns              `yaml:"runs"`
}

type actionInput struct {
	Description string `yaml:"description"`
	Required    bool   `yaml:"required"`
	Default     string `yaml:"default"`
}

type actionOutput struct {
	Description string `yaml:"description"`
	Value       string `yaml:"value"`
}

type actionRuns struct {
	Using string       `yaml:"using"`
	Steps []actionStep `yaml:"steps"`
}

type actionStep struct {
	Name  string            `yaml:"name"`
	ID    string            `yaml:"id"`
	Shell string            `yaml:"shell"`
	Env   map[string]string `yaml:"env"`
	Run   string            `yaml:"run"`
}

func readAction(tb testing.TB) action {
	tb.Helper()
	file, err := os.Open(filepath.Join(actionFolder, "action.yml"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	var a action
	if err := decoder.Decode(&a); err != nil {
		tb.Fatal(err)
	}
	return a
}

// expressions finds what a runner puts in.
func expressions() *regexp.Regexp { return regexp.MustCompile(`\$\{\{ ([^}]*) \}\}`) }

// expand puts the values of expressions in.
func expand(text string, values map[string]string) string {
	pattern := expressions()
	return pattern.ReplaceAllStringFunc(text, func(found string) string {
		return values[pattern.FindStringSubmatch(found)[1]]
	})
}

// TestAction wants an action.yml that runners take.
func TestAction(t *testing.T) {
	t.Parallel()
	a := readAction(t)
	known := map[string]bool{"github.run_id": true, "github.action_path": true}
	used := make(map[string]bool)
	want := func(text string) {
		for _, found := range expressions().FindAllStringSubmatch(text, -1) {
			used[found[1]] = true
			if !known[found[1]] {
				t.Errorf("expression = %s, want one of what is known there", found[0])
			}
		}
	}
	for name, input := range a.Inputs {
		want(input.Default)
		if input.Description == "" {
			t.Errorf("input %s has no description", name)
		}
	}
	for name := range a.Inputs {
		known["inputs."+name] = true
	}
	for _, step := range a.Runs.Steps {
		for _, value := range step.Env {
			want(value)
		}
		for _, output := range regexp.MustCompile(`"([a-z-]+)=`).FindAllStringSubmatch(step.Run, -1) {
			known["steps."+step.ID+".outputs."+output[1]] = true
		}
		if step.Shell != "bash" || step.Name == "" {
			t.Errorf("step %q has shell %q, want a name and bash", step.Name, step.Shell)
		}
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %s has an expression in its script, which its value could change", step.Name)
		}
		checkShell(t, block{code: step.Run})
	}
	guide, err := os.ReadFile(filepath.Join(repository, "docs", "guides", "pipelines.md"))
	if err != nil {
		t.Fatal(err)
	}
	for name := range a.Inputs {
		if !used["inputs."+name] || !bytes.Contains(guide, []byte("`"+name+"`")) {
			t.Errorf("input %s is not used, or not in the guide", name)
		}
	}
	for name, output := range a.Outputs {
		if output.Value != "${{ steps.validate.outputs."+name+" }}" {
			t.Errorf("output %s = %s, want that of the step", name, output.Value)
		}
	}
	if a.Runs.Using != "composite" || a.Name == "" || a.Description == "" {
		t.Errorf("the action %q is %s, want a composite one with a description", a.Name, a.Runs.Using)
	}
}

// job is a job of GitHub Actions: what a step of it can use, and where it runs.
type job struct {
	dir     string
	environ []string
}

// ended is what is left of an action.
type ended struct {
	code         int
	log, summary string
	outputs      map[string]string
}

func setupJob(tb testing.TB, attempt string) job {
	tb.Helper()
	dir := workplace(tb)
	return job{dir: dir, environ: plainEnviron(dir, "GITHUB_ACTIONS=true", "GITHUB_RUN_ID=4711",
		"GITHUB_RUN_ATTEMPT="+attempt, "RUNNER_TEMP="+dir, "SV_URL=", "SV_TOKEN=")}
}

// use runs the action as a runner does, up to its first step that fails.
func (j job) use(tb testing.TB, a action, given map[string]string) ended {
	tb.Helper()
	folder, err := filepath.Abs(actionFolder)
	if err != nil {
		tb.Fatal(err)
	}
	values := map[string]string{"github.run_id": "4711", "github.action_path": folder}
	for name, input := range a.Inputs {
		values["inputs."+name] = expand(input.Default, values)
	}
	for name, value := range given {
		values["inputs."+name] = value
	}
	e := ended{outputs: make(map[string]string)}
	for _, step := range a.Runs.Steps {
		j.step(tb, step, values, &e)
		if e.code != 0 {
			break
		}
	}
	for name, output := range a.Outputs {
		e.outputs[name] = expand(output.Value, values)
	}
	return e
}

// step runs one step and adds what it has left to the values and to what was left before.
func (j job) step(tb testing.TB, step actionStep, values map[string]string, e *ended) {
	tb.Helper()
	outputs, summary := filepath.Join(j.dir, "output"), filepath.Join(j.dir, "summary")
	for _, name := range []string{outputs, summary} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	cmd := exec.CommandContext(tb.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
	cmd.Dir = j.dir
	cmd.Env = append(slices.Clone(j.environ), "GITHUB_OUTPUT="+outputs, "GITHUB_STEP_SUMMARY="+summary)
	for _, name := range slices.Sorted(maps.Keys(step.Env)) {
		cmd.Env = append(cmd.Env, name+"="+expand(step.Env[name], values))
	}
	log, err := cmd.CombinedOutput()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		tb.Fatal(err)
	}
	e.code = cmd.ProcessState.ExitCode()
	e.log += string(log)
	for name, value := range readOutputs(tb, outputs) {
		values["steps."+step.ID+".outputs."+name] = value
	}
	shown, err := os.ReadFile(summary)
	if err != nil {
		tb.Fatal(err)
	}
	e.summary += string(shown)
}

// readOutputs reads outputs in both forms that runners know: name=value, and lines up to a delimiter.
func readOutputs(tb testing.TB, name string) map[string]string {
	tb.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	outputs := make(map[string]string)
	for rest := string(content); rest != ""; {
		line, after, _ := strings.Cut(rest, "\n")
		rest = after
		if output, delimiter, isLong := strings.Cut(line, "<<"); isLong {
			value, behind, found := strings.Cut("\n"+rest, "\n"+delimiter+"\n")
			if !found {
				tb.Fatalf("output %s has no end", output)
			}
			outputs[output], rest = strings.TrimPrefix(value, "\n"), behind
			continue
		}
		output, value, isOutput := strings.Cut(line, "=")
		if !isOutput {
			tb.Fatalf("output = %q, want name=value", line)
		}
		outputs[output] = value
	}
	return outputs
}

// want compares how the action has ended.
func (e ended) want(tb testing.TB, code int, result string, texts ...string) {
	tb.Helper()
	if e.code != code || e.outputs["result"] != result {
		tb.Errorf("exit code = %d, result %q, want %d, %q; log %s", e.code, e.outputs["result"], code, result, e.log)
	}
	for _, text := range texts {
		if !strings.Contains(e.log, text) {
			tb.Errorf("log = %s, want %q in it", e.log, text)
		}
	}
}

// TestActionInstalls wants the program of the version that was asked for.
func TestActionInstalls(t *testing.T) {
	t.Parallel()
	j := setupJob(t, "1")
	const installer = "#!/bin/sh\necho \"$GOBIN $*\" >installed\n"
	if err := os.WriteFile(filepath.Join(j.dir, "bin", "go"), []byte(installer), 0o700); err != nil {
		t.Fatal(err)
	}
	j.environ = append(j.environ, "PATH="+filepath.Join(j.dir, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	values := map[string]string{"inputs.version": "v1.2.3"}
	var e ended
	j.step(t, readAction(t).Runs.Steps[0], values, &e)
	installed, err := os.ReadFile(filepath.Join(j.dir, "installed"))
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(j.dir, "simplevalidations")
	want := folder + " install github.com/simplevalidations/simplevalidations@v1.2.3\n"
	if !bytes.Equal(installed, []byte(want)) {
		t.Errorf("go was called with %q, want %q", installed, want)
	}
	if got := values["steps.install.outputs.binary"]; got != filepath.Join(folder, "simplevalidations") {
		t.Errorf("binary = %s, want it in %s", got, folder)
	}
}
