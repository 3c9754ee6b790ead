//go:build slow && linux

package deploy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// TestFilesBySchemas has our own json_schema validator check the files by the schemas that Kubernetes and Compose
// publish, and find each mistake that is made in them on its line.
func TestFilesBySchemas(t *testing.T) {
	t.Parallel()
	s := publishedSchemas(t)
	for _, name := range deployed(t, "compose", "kubernetes") {
		if filepath.Ext(name) == ".yaml" {
			if found := s.check(t, name, readFile(t, name)); len(found) > 0 {
				t.Errorf("%s: %v", name, found)
			}
		}
	}
	for _, tt := range []struct{ file, right, wrong string }{
		{"kubernetes/web.yaml", "replicas: 2", "replicas: two"},
		{"kubernetes/web.yaml", "maxUnavailable: 1\n", "maxUnavailables: 1\n"},
		{"kubernetes/web.yaml", "readinessProbe:", "readynessProbe:"},
		{"kubernetes/web.yaml", "sleep: {seconds: 5}", "sleep: {}"},
		{"kubernetes/web.yaml", "targetPort: http", "targetPort: [http]"},
		{"kubernetes/worker.yaml", "{cpu: \"1\", memory: 512Mi}", "{cpu: true, memory: 512Mi}"},
		{"kubernetes/worker-scaling.yaml", "maxReplicas: 8", "maximumReplicas: 8"},
		{"kubernetes/network.yaml", "- {port: http}", "- {ports: http}"},
		{"kubernetes/migrate.yaml", "backoffLimit: 5", "backoffLimit: five"},
		{"kubernetes/settings.yaml", "SV_LOG_FORMAT: json", "SV_LOG_FORMAT: 1"},
		{"compose/compose.yaml", "stop_grace_period: 45s", "stop_grace: 45s"},
		{"compose/compose.yaml", "condition: service_healthy}\n\n  web", "condition: healthy}\n\n  web"},
		{"compose/compose.yaml", "replicas: 2", "replicas: [2]"},
	} {
		name := filepath.Join(folder, tt.file)
		right := string(readFile(t, name))
		at := strings.Index(right, tt.right)
		if at < 0 {
			t.Fatalf("%s has no %s", name, tt.right)
		}
		want := 1 + strings.Count(right[:at], "\n")
		lines := s.check(t, name, []byte(strings.Replace(right, tt.right, tt.wrong, 1)))
		if !slices.Contains(lines, want) {
			t.Errorf("%s with %q has mistakes on lines %v, want one on line %d", name, tt.wrong, lines, want)
		}
	}
}

// schemas are the published ones that were needed so far.
type schemas struct {
	// folder has the OpenAPI documents of the API of Kubernetes.
	folder   string
	compiled map[string]engines.Engine
}

// publishedSchemas reads those of the releases that the models have.
func publishedSchemas(tb testing.TB) *schemas {
	tb.Helper()
	models := filepath.Join("testdata", "models")
	compose := download(tb, models, "github.com/compose-spec/compose-go/v2").Dir
	// A release of the API is one of Kubernetes, with another number before it. No module is to require the latter.
	version := strings.TrimPrefix(download(tb, models, "k8s.io/api").Version, "v0")
	kubernetes := download(tb, tb.TempDir(), "k8s.io/kubernetes@v1"+version).Dir
	return &schemas{
		folder: filepath.Join(kubernetes, "api", "openapi-spec", "v3"),
		compiled: map[string]engines.Engine{
			"": compileSchema(tb, readFile(tb, filepath.Join(compose, "schema", "compose-spec.json"))),
		},
	}
}

// fetched is a module that is on this machine.
type fetched struct {
	Dir     string `json:"Dir"`
	Version string `json:"Version"`
}

func download(tb testing.TB, dir, module string) fetched {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), "go", "mod", "download", "-json", module)
	cmd.Dir = dir
	said, err := cmd.Output()
	if err != nil {
		tb.Fatalf("download %s: %v: %s", module, err, said)
	}
	var got fetched
	if err := json.Unmarshal(said, &got); err != nil {
		tb.Fatal(err)
	}
	return got
}

// check returns the lines on which the documents of a file have mistakes.
func (s *schemas) check(tb testing.TB, name string, content []byte) []int {
	tb.Helper()
	var lines []int
	above := 0
	for _, document := range bytes.SplitAfter(content, []byte("\n---\n")) {
		var of struct {
			Version string `yaml:"apiVersion"`
			Kind    string
		}
		text := bytes.TrimSuffix(document, []byte("---\n"))
		if err := yaml.Unmarshal(text, &of); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		report, err := s.of(tb, of.Version, of.Kind).
			Run(tb.Context(), engines.NewDocument(text, "application/yaml", name))
		if err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
		for _, f := range report.Findings {
			tb.Logf("%s:%d: %s", name, above+f.Line, f.Message)
			lines = append(lines, above+f.Line)
		}
		above += bytes.Count(document, []byte("\n"))
	}
	return lines
}

// of returns the schema of a kind, and that of compose files for none.
//
//nolint:ireturn // the test works on what Compile returns
func (s *schemas) of(tb testing.TB, version, kind string) engines.Engine {
	tb.Helper()
	if found, ok := s.compiled[kind]; ok {
		return found
	}
	group, number, isNamed := strings.Cut(version, "/")
	file := "apis__" + group + "__" + number
	if !isNamed {
		group, number, file = "", version, "api__"+version
	}
	var read struct {
		Components struct {
			Schemas map[string]map[string]any `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(readFile(tb, filepath.Join(s.folder, file+"_openapi.json")), &read); err != nil {
		tb.Fatal(err)
	}
	var root string
	for name, schema := range read.Components.Schemas {
		// The API server refuses members that it does not know, where it is asked to.
		if schema["properties"] != nil {
			schema["additionalProperties"] = false
		}
		kinds, err := json.Marshal(schema["x-kubernetes-group-version-kind"])
		if err != nil {
			tb.Fatal(err)
		}
		if bytes.Contains(kinds, fmt.Appendf(nil, `{"group":%q,"kind":%q,"version":%q}`, group, kind, number)) {
			root = name
		}
	}
	whole, err := json.Marshal(map[string]any{"$ref": "#/components/schemas/" + root, "components": read.Components})
	if err != nil {
		tb.Fatal(err)
	}
	s.compiled[kind] = compileSchema(tb, whole)
	return s.compiled[kind]
}

//nolint:ireturn // the test works on what Compile returns
func compileSchema(tb testing.TB, schema []byte) engines.Engine {
	tb.Helper()
	step, err := json.Marshal(map[string]json.RawMessage{"schema": schema})
	if err != nil {
		tb.Fatal(err)
	}
	engine, faults := engines.Compile("json_schema", step, engines.DefaultLimits())
	if len(faults) > 0 {
		tb.Fatalf("%+v", faults)
	}
	return engine
}
