package files

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

// folder writes files into a new folder and returns the path of one.
func folder(tb testing.TB, files map[string]string) func(name string) string {
	tb.Helper()
	root := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
}

// stepFile is a workflow file of one step.
func stepFile(kind, config string) string {
	return "# checked by hand\nschema_version: 1\nslug: site\nname: Site\naccepts: [application/json]\nsteps:\n" +
		"  - id: a\n    name: A\n    type: " + kind + "\n    config: " + config + "\n"
}

// bundled returns the configuration of the step of a bundled file, which has to be right.
func bundled(tb testing.TB, b *Bundler, name string) json.RawMessage {
	tb.Helper()
	text, err := b.Bundle(tb.Context(), name)
	if err != nil {
		tb.Fatalf("bundle: %v", err)
	}
	if !strings.HasPrefix(string(text), "# checked by hand\n") {
		tb.Errorf("the file begins with %.40q, want its comment", text)
	}
	read, unreadable := engines.ReadYAML(text, bundleLimits())
	if unreadable != nil {
		tb.Fatalf("read the bundle: %+v\n%s", unreadable, text)
	}
	var file struct {
		Steps []struct {
			Type   string          `json:"type"`
			Config json.RawMessage `json:"config"`
		} `json:"steps"`
	}
	if err := json.Unmarshal(read.JSON, &file); err != nil {
		tb.Fatalf("read the bundle: %v", err)
	}
	return file.Steps[0].Config
}

func names(tb testing.TB, config json.RawMessage) []string {
	tb.Helper()
	var read struct {
		Schemas map[string]json.RawMessage `json:"schemas"`
	}
	if err := json.Unmarshal(config, &read); err != nil {
		tb.Fatalf("read the configuration: %v", err)
	}
	list := []string{}
	for name := range read.Schemas {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

func silent(string) {}

func TestBundleJSONSchemas(t *testing.T) {
	t.Parallel()
	const zone = `{"properties": {"area": {"$ref": "../../units.json#/$defs/area"}}}`
	const units = `{"$schema": "http://json-schema.org/draft-07/schema#", "$defs": {"area": {"type": "number"}}}`
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"Files": {
			map[string]string{
				"flows/site.yaml":         stepFile("json_schema", "\n      schema: ../schemas/site.json # ours"),
				"schemas/site.json":       `{"properties": {"zone": {"$ref": "parts/zone.json"}}}`,
				"schemas/parts/zone.json": zone, "units.json": units,
			},
			[]string{"../units.json", "parts/zone.json"},
		},
		"Inline": {
			map[string]string{
				"flows/site.yaml": stepFile("json_schema",
					`{schema: {properties: {zone: {$ref: parts/zone.yaml}}}}`),
				"flows/parts/zone.yaml": "# YAML\nproperties:\n  area: {$ref: ../../units.json#/$defs/area}\n",
				"units.json":            units,
			},
			[]string{"../units.json", "parts/zone.yaml"},
		},
		"Addresses": {
			map[string]string{
				"flows/site.yaml": stepFile("json_schema", "{schema: ../schemas/site.json}"),
				"schemas/site.json": `{"$id": "https://a.example/s/site.json",
					"properties": {"zone": {"$ref": "parts/zone.json"}}}`,
				"schemas/parts/zone.json": zone, "units.json": units,
			},
			[]string{"https://a.example/s/parts/zone.json", "https://a.example/units.json"},
		},
		"NamedThere": {
			map[string]string{
				"flows/site.yaml": stepFile("json_schema",
					`{schema: {$ref: urn:a}, schemas: {urn:a: ../schemas/a.json}}`),
				"schemas/a.json": `{"properties": {"zone": {"properties": {"area": {"type": "number"}}}}}`,
			},
			[]string{"urn:a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := folder(t, tt.files)
			config := bundled(t, NewBundler(nil, silent), path("flows/site.yaml"))
			if diff := cmp.Diff(tt.want, names(t, config)); diff != "" {
				t.Errorf("schemas (-want +got):\n%s", diff)
			}
			engine, faults := engines.Compile(engines.KindJSONSchema, config, engines.DefaultLimits())
			if len(faults) > 0 {
				t.Fatalf("compile: %+v\n%s", faults, config)
			}
			report, err := engine.Run(t.Context(), engines.NewDocument([]byte(`{"zone": {"area": "x"}}`), "", ""))
			if err != nil || report.Errors != 1 {
				t.Errorf("errors = %d with %v, want that of the area", report.Errors, err)
			}
		})
	}
}

func TestBundleXMLSchemas(t *testing.T) {
	t.Parallel()
	const head = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">` + "\n"
	site := head + "  <xs:include schemaLocation=\"parts/zone.xsd\"/>\n</xs:schema>\n"
	path := folder(t, map[string]string{
		"flows/site.yaml": stepFile("xml", "{schema: ../schemas/site.xsd}"), "schemas/site.xsd": site,
		"schemas/parts/zone.xsd": head + `<xs:import namespace="u" schemaLocation="../../units.xsd"/>
			<xs:import namespace="http://www.w3.org/XML/1998/namespace"
				schemaLocation="http://www.w3.org/2001/xml.xsd"/>
			<xs:import namespace="http://www.w3.org/1999/xlink" schemaLocation="xlink.xsd"/></xs:schema>`,
		"units.xsd": head + `<xs:include schemaLocation="units.xsd"/>` + "  \n</xs:schema>",
	})
	config := bundled(t, NewBundler(nil, silent), path("flows/site.yaml"))
	var read struct {
		Schema  string            `json:"schema"`
		Schemas map[string]string `json:"schemas"`
	}
	if err := json.Unmarshal(config, &read); err != nil {
		t.Fatalf("read: %v", err)
	}
	diff := cmp.Diff([]string{"../units.xsd", "parts/zone.xsd"}, names(t, config))
	if diff != "" || read.Schema != site {
		t.Errorf("schema = %q, schemas (-want +got):\n%s", read.Schema, diff)
	}
	if !strings.HasSuffix(read.Schemas["../units.xsd"], "  \n</xs:schema>") {
		t.Errorf("text = %q, want every character of the file", read.Schemas["../units.xsd"])
	}
}

func TestBundleShortensXMLSchemas(t *testing.T) {
	t.Parallel()
	const head = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`
	long := "\n  <xs:annotation><xs:documentation>" + strings.Repeat("a word ", 1<<16) +
		"</xs:documentation></xs:annotation>"
	const include = "\n  <xs:include schemaLocation=\"dsig.xsd\"/>"
	signed := `<!DOCTYPE schema PUBLIC "-//W3C//DTD XMLSchema 200102//EN" "http://www.w3.org/2001/XMLSchema.dtd" [` +
		"\n  <!ENTITY dsig 'urn:d'>\n]>\n" + head + long + "\n</xs:schema>\n"
	const element = "\n  <xs:element name=\"a\"/>"
	path := folder(t, map[string]string{
		"long.yaml":  stepFile("xml", "{schema: long.xsd}"),
		"long.xsd":   head + include + long + element + long + "\n</xs:schema>\n",
		"dsig.xsd":   signed,
		"short.yaml": stepFile("xml", "{schema: dsig.xsd}"),
	})
	var read struct {
		Schema  string            `json:"schema"`
		Schemas map[string]string `json:"schemas"`
	}
	if err := json.Unmarshal(bundled(t, NewBundler(nil, silent), path("long.yaml")), &read); err != nil {
		t.Fatal(err)
	}
	want := head + include + element + "\n</xs:schema>\n"
	if diff := cmp.Diff(want, read.Schema); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("\n"+head+"\n</xs:schema>\n", read.Schemas["dsig.xsd"]); diff != "" {
		t.Errorf("included schema (-want +got):\n%s", diff)
	}
	// What is small enough stays as it is written.
	if err := json.Unmarshal(bundled(t, NewBundler(nil, silent), path("short.yaml")), &read); err != nil {
		t.Fatal(err)
	}
	if want := "\n" + head + long + "\n</xs:schema>\n"; read.Schema != want {
		t.Errorf("schema has %d bytes, want %d", len(read.Schema), len(want))
	}
}

// local is a bundler that may reach this machine, where the tests serve schemas.
func local(hosts ...string) *Bundler {
	b := NewBundler(hosts, silent)
	policy := external.NewPolicy([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	b.fetch.secure, b.fetch.plain = policy.Client(true, false), policy.Client(false, false)
	return b
}

func TestBundleFetchesFromAllowedHosts(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("/a/site.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"items": {"$ref": "../b.json"}}`))
	})
	mux.Handle("/b.json", http.RedirectHandler("/c.json", http.StatusFound))
	mux.HandleFunc("/c.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"type": "null"}`))
	})
	mux.Handle("/away.json", http.RedirectHandler("http://localhost.example/c.json", http.StatusFound))
	mux.Handle("/loop.json", http.RedirectHandler("/loop.json", http.StatusFound))
	mux.HandleFunc("/file.json", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"$ref": "https://schema.invalid/-/-/-/-/-/-/-/-/secret.json"}`))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	host := address.Hostname()
	path := folder(t, map[string]string{
		"secret.json": `{"title": "secret"}`,
		"whole.yaml":  stepFile("json_schema", "{schema: "+server.URL+"/a/site.json}"),
		"part.yaml":   stepFile("json_schema", `{schema: {$ref: "`+server.URL+`/a/site.json"}}`),
		"away.yaml":   stepFile("json_schema", `{schema: {$ref: "`+server.URL+`/away.json"}}`),
		"loop.yaml":   stepFile("json_schema", `{schema: {$ref: "`+server.URL+`/loop.json"}}`),
		"none.yaml":   stepFile("json_schema", `{schema: {$ref: "`+server.URL+`/none.json"}}`),
		"steal.yaml":  stepFile("json_schema", `{schema: {$ref: "`+server.URL+`/file.json"}}`),
		"file.yaml":   stepFile("json_schema", `{schema: {$ref: "file:///etc/hostname"}}`),
	})
	for name, want := range map[string][]string{
		"whole.yaml": {"../b.json"}, "part.yaml": {server.URL + "/a/site.json", server.URL + "/b.json"},
	} {
		if diff := cmp.Diff(want, names(t, bundled(t, local(host), path(name)))); diff != "" {
			t.Errorf("schemas of %s (-want +got):\n%s", name, diff)
		}
	}
	for _, tt := range []struct {
		name    string
		bundler *Bundler
		want    string
	}{
		{"part.yaml", local(), "is not fetched: allow it with --allow-host " + host},
		{"part.yaml", local("other.example"), "is not fetched"},
		{"away.yaml", local(host), "http://localhost.example/c.json is not fetched"},
		{"loop.yaml", local(host), "redirects more than 5 times"},
		{"none.yaml", local(host), "the answer is 404 Not Found"},
		{"steal.yaml", local(host), "what was fetched may not refer to files"},
		{"file.yaml", local(host), "neither a path nor a web address"},
		// Without the operator's leave no private network is reached, whatever the host is called.
		{"part.yaml", NewBundler([]string{host}, silent), external.ErrAddress.Error()},
	} {
		_, err := tt.bundler.Bundle(t.Context(), path(tt.name))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("bundle %s = %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestBundleNamesAllThatIsMissing(t *testing.T) {
	t.Parallel()
	path := folder(t, map[string]string{
		"site.yaml":   stepFile("json_schema", "{schema: site.json}"),
		"site.json":   `{"allOf": [{"$ref": "a.json"}, {"$ref": "b.json"}]}`,
		"broken.yaml": stepFile("json_schema", "{schema: broken.json}"), "broken.json": "{\n  ]",
		"big.yaml": stepFile("json_schema", "{schema: big.json}"),
		"big.json": `{"title": "` + strings.Repeat("x", MaxBytes) + `"}`,
		"no.yaml":  "steps: [",
	})
	for name, want := range map[string][]string{
		"site.yaml":   {`the reference "a.json" in ` + path("site.json"), path("b.json") + ": no such file"},
		"broken.yaml": {path("broken.json") + ": line 2"},
		"big.yaml":    {"at most 2097152 are allowed"},
		"no.yaml":     {path("no.yaml") + ": not valid YAML"},
		"none.yaml":   {"no such file"},
	} {
		_, err := NewBundler(nil, silent).Bundle(t.Context(), path(name))
		for _, part := range want {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("bundle %s = %v, want %q", name, err, part)
			}
		}
	}
}

func TestBundleTableSchemas(t *testing.T) {
	t.Parallel()
	path := folder(t, map[string]string{
		"schemas/site.json": `{"fields": [{"name": "id", "type": "integer"}]}`,
	})
	for _, schema := range []string{"schemas/site.json", path("schemas/site.json")} {
		workflow := path("site.yaml")
		if err := os.WriteFile(workflow, []byte(stepFile("table", "{schema: "+schema+"}")), 0o600); err != nil {
			t.Fatal(err)
		}
		config := bundled(t, NewBundler(nil, silent), workflow)
		if _, faults := engines.Compile(engines.KindTable, config, engines.DefaultLimits()); len(faults) > 0 {
			t.Errorf("faults = %+v of %s", faults, config)
		}
	}
}

func TestBundleTexts(t *testing.T) {
	t.Parallel()
	for kind, member := range map[string]string{engines.KindIDS: "ids", engines.KindSchematron: "schema"} {
		const text = "<a>\n  <b/>\n</a>\n"
		path := folder(t, map[string]string{
			"flows/site.yaml": stepFile(kind, "{"+member+": ../site.xml}"), "site.xml": text,
		})
		var config map[string]string
		err := json.Unmarshal(bundled(t, NewBundler(nil, silent), path("flows/site.yaml")), &config)
		if err != nil || config[member] != text {
			t.Errorf("configuration of a step of the type %s = %q, %v", kind, config, err)
		}
	}
}
