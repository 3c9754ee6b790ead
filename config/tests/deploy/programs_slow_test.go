//go:build slow && linux

package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exposure is the most that a unit may expose of the machine, in tenths, as systemd-analyze counts it: 100 is a process
// that may do everything.
const exposure = "15"

// systemd (.ci/setup systemd) understands each line of the units, and finds them well shut in.
func TestUnits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var units []string
	for _, name := range deployed(t, "systemd") {
		text := string(readFile(t, name))
		if !strings.Contains(text, "/usr/local/bin/simplevalidations") {
			t.Errorf("%s does not run the program", name)
		}
		// systemd looks whether the program is there.
		text = strings.ReplaceAll(text, "/usr/local/bin/simplevalidations", "/bin/true")
		unit := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		units = append(units, unit)
		run(t, "systemd-analyze", "security", "--offline=true", "--threshold="+exposure, unit)
	}
	if said := run(t, "systemd-analyze", append([]string{"verify", "--man=no"}, units...)...); said != "" {
		t.Errorf("systemd says %s", said)
	}
}

// compose-go and the API of Kubernetes know each member, and the processes get what they need: probes, budgets, time to
// stop, and no rights.
func TestComposeFileAndManifests(t *testing.T) {
	t.Parallel()
	files, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", "-C", filepath.Join("testdata", "models"), "."}
	for _, name := range deployed(t, "compose", "kubernetes") {
		if filepath.Ext(name) == ".yaml" {
			args = append(args, filepath.Join(files, filepath.Base(filepath.Dir(name)), filepath.Base(name)))
		}
	}
	said := run(t, "go", args...)
	for _, want := range []string{
		`(?m)^service migrate simplevalidations:0\.1\.0 read_only=true user=65532:65532 cap_drop=ALL`,
		`(?m)^service web simplevalidations:0\.1\.0 read_only=true user=65532:65532 cap_drop=ALL grace=45s`,
		`(?m)^service worker .* grace=30s`, `(?m)^service scheduler .* grace=30s`,
		`(?m)^service nginx `, `(?m)^service postgres `, `(?m)^service redis `,
		`(?m)^deployment simplevalidations-web .* probes=3 preStop=true grace=60`,
		`(?m)^deployment simplevalidations-worker .* probes=3 preStop=false grace=30`,
		`(?m)^deployment simplevalidations-scheduler .* probes=3`,
		`(?m)^job simplevalidations-migrate- .* args=migrate up`,
		`(?m)^policy lets \S+=ingress-nginx reach http of app\.kubernetes\.io/component=web,\S+=simplevalidations$`,
		`(?m)^policy lets \S+=monitoring reach metrics of app\.kubernetes\.io/name=simplevalidations$`,
		`(?m)^scales Deployment simplevalidations-worker by sv_runs_pending$`,
		`(?m)^reached by selector=\S*component=web`,
	} {
		if !regexp.MustCompile(want).MatchString(said) {
			t.Errorf("the models read no %s in\n%s", want, said)
		}
	}
	if strings.Count(said, "policy lets") != 2 {
		t.Error("others reach the pods as well")
	}
	for _, component := range []string{"web", "worker", "scheduler"} {
		selector := "selector=app.kubernetes.io/component=" + component + ",app.kubernetes.io/name=simplevalidations"
		if strings.Count(said, "budget simplevalidations-"+component+" "+selector) != 1 {
			t.Errorf("the %s has no disruption budget that selects its pods", component)
		}
	}
}

func run(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	output, err := exec.CommandContext(tb.Context(), name, args...).CombinedOutput()
	if err != nil {
		tb.Errorf("%s %v: %v\n%s", name, args, err, output)
	}
	if name == "systemd-analyze" && args[0] == "security" {
		return ""
	}
	return string(output)
}
