package deploy

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/docs"
)

const folder = "../../deploy"

// An image without a version is another one tomorrow.
func TestDeployedImagesArePinned(t *testing.T) {
	t.Parallel()
	pinned := regexp.MustCompile(`:\d+\.\d+(\.\d+)?$|:\$\{SV_VERSION:\?`)
	image := regexp.MustCompile(`(?m)^\s*image: (.+)$`)
	var images int
	for _, name := range deployed(t, "compose", "kubernetes") {
		for _, found := range image.FindAllStringSubmatch(string(readFile(t, name)), -1) {
			images++
			if !pinned.MatchString(strings.Fields(found[1])[0]) {
				t.Errorf("%s has the image %s, want one with its version", name, found[1])
			}
		}
	}
	if images < 8 {
		t.Errorf("images = %d, want more", images)
	}
}

// dashboard is the part of a Grafana dashboard that Prometheus sees.
type dashboard struct {
	Panels []struct {
		ID      int    `json:"id"`
		Type    string `json:"type"`
		Title   string `json:"title"`
		Targets []struct {
			Expr string `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

// Each panel of the dashboard asks for metrics that are measured, in a way that Prometheus understands.
func TestDashboardShowsWhatIsMeasured(t *testing.T) {
	t.Parallel()
	var board dashboard
	text := readFile(t, filepath.Join(folder, "grafana", "simplevalidations.json"))
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	page, ok := docs.Page("guides/metrics")
	if !ok {
		t.Fatal("there is no page on metrics")
	}
	type rule struct {
		Record string `yaml:"record"`
		Expr   string `yaml:"expr"`
	}
	var rules []rule
	shown := make(map[int]bool)
	for _, panel := range board.Panels {
		if shown[panel.ID] || panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("panel %d, %q, stands twice or shows nothing", panel.ID, panel.Title)
		}
		shown[panel.ID] = true
		for _, target := range panel.Targets {
			for _, name := range regexp.MustCompile(`sv_[a-z_]+`).FindAllString(target.Expr, -1) {
				measured := regexp.MustCompile(`_(count|bucket|sum)$`).ReplaceAllString(name, "")
				if !bytes.Contains(page, []byte("`"+measured+"`")) && !bytes.Contains(page, []byte("`"+name+"`")) {
					t.Errorf("%s: %s is not measured", panel.Title, name)
				}
			}
			expr := strings.NewReplacer("$__rate_interval", "5m", "$job", "simplevalidations").Replace(target.Expr)
			rules = append(rules, rule{"sv:dashboard", expr})
		}
	}
	if len(rules) < 20 {
		t.Errorf("expressions = %d, want more", len(rules))
	}
	asked, err := yaml.Marshal(map[string]any{"groups": []map[string]any{{"name": "dashboard", "rules": rules}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, asked, 0o600); err != nil {
		t.Fatal(err)
	}
	// Rules of one name are reported, and are no error.
	if output, err := exec.CommandContext(t.Context(), "promtool", "check", "rules", "--lint=none", file).
		CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, output)
	}
}

// deployed lists the files of some folders.
func deployed(tb testing.TB, folders ...string) []string {
	tb.Helper()
	var names []string
	for _, one := range folders {
		err := filepath.WalkDir(filepath.Join(folder, one), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	slices.Sort(names)
	return names
}

func withoutComments(text string) string {
	return regexp.MustCompile(`(?m)^\s*#.*$`).ReplaceAllString(text, "")
}

func readFile(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		tb.Fatal(err)
	}
	return content
}
