package files

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// schematron is a schema with this content, on lines of their own.
func schematron(content string) string {
	return `<schema xmlns="http://purl.oclc.org/dsdl/schematron">` + "\n" + content + "\n</schema>\n"
}

// failed returns the ids of the assertions that a document fails.
func failed(tb testing.TB, config json.RawMessage, document string) []string {
	tb.Helper()
	engine, faults := engines.Compile(engines.KindSchematron, config, engines.DefaultLimits())
	if len(faults) > 0 {
		tb.Fatalf("compile: %+v\n%s", faults, config)
	}
	report, err := engine.Run(tb.Context(), engines.NewDocument([]byte(document), "", ""))
	if err != nil {
		tb.Fatalf("run: %v", err)
	}
	ids := []string{}
	for _, f := range report.Findings {
		ids = append(ids, f.AssertionID)
	}
	return ids
}

func TestBundleSchematron(t *testing.T) {
	t.Parallel()
	const namespace = ` xmlns:sch="http://purl.oclc.org/dsdl/schematron"`
	path := folder(t, map[string]string{
		"flows/site.yaml": stepFile("schematron", "{schema: ../rules/site.sch}"),
		"rules/site.sch": "<?xml version=\"1.0\"?>\n" + schematron(`  <include href="parts/names.sch"/>
  <pattern><rule context="zone"><extends href="parts/areas.sch#area"/>
    <assert id="tag" test="@tag">no tag</assert></rule></pattern>`),
		// The prefix is declared around the rule, and one of the files is written on Windows.
		"rules/parts/areas.sch": "\ufeff<sch:schema" + namespace + ">\r\n <sch:pattern>\r\n" +
			`  <sch:rule abstract="true" id="area"><sch:assert id="area" test="@area > 0">no area</sch:assert>` +
			"\r\n</sch:rule></sch:pattern></sch:schema>",
		"rules/parts/names.sch": "<!-- names --><x:pattern" + strings.ReplaceAll(namespace, ":sch", ":x") +
			`><x:rule context="site"><x:include href="../deep/name.sch"/></x:rule></x:pattern>`,
		"rules/deep/name.sch": `<assert xmlns="http://purl.oclc.org/dsdl/schematron" id="name" test="@name">?</assert>`,
		"flows/inline.yaml": stepFile("schematron", "\n      schema: |\n        "+strings.ReplaceAll(
			strings.TrimSpace(schematron(`<include href="../rules/parts/names.sch"/>`)), "\n", "\n        ")),
		"flows/latin.yaml": stepFile("schematron", "{schema: ../rules/latin.sch}"),
		"rules/latin.sch": `<?xml version="1.0" encoding="ISO-8859-1"?>` + "\n" +
			schematron("<include href=\"latin-names.sch\"/><!-- \xe9 -->"),
		"rules/latin-names.sch": `<?xml version="1.0" encoding="ISO-8859-1"?>` +
			`<pattern xmlns="http://purl.oclc.org/dsdl/schematron"><rule context="site">` +
			`<assert id="latin" test="@name">` + "\xe9</assert></rule></pattern>",
		"flows/plain.yaml": stepFile("schematron", "{schema: ../rules/parts/areas.sch}"),
	})
	const document = `<site><zone area="0"/></site>`
	for name, want := range map[string][]string{
		"flows/site.yaml": {"name", "area", "tag"}, "flows/inline.yaml": {"name"}, "flows/plain.yaml": {},
		"flows/latin.yaml": {"latin"},
	} {
		config := bundled(t, NewBundler(nil, silent), path(name))
		if diff := cmp.Diff(want, failed(t, config, document)); diff != "" {
			t.Errorf("findings by %s (-want +got):\n%s", name, diff)
		}
	}
	var read struct {
		Schema string `json:"schema"`
	}
	config := bundled(t, NewBundler(nil, silent), path("flows/site.yaml"))
	if err := json.Unmarshal(config, &read); err != nil || !strings.Contains(read.Schema, "\n  <x:pattern") {
		t.Errorf("schema = %s with %v, want all else as it is written", read.Schema, err)
	}
}

func TestBundleRefusesIncludes(t *testing.T) {
	t.Parallel()
	served := map[string]string{
		"/site.sch":  schematron(`<include href="part.sch"/>`),
		"/part.sch":  `<pattern xmlns="http://purl.oclc.org/dsdl/schematron" id="a"/>`,
		"/steal.sch": schematron(`<include href="file:///etc/hostname"/>`),
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(served[r.URL.Path]))
	}))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{
		"whole.sch": schematron(``), "doctype.sch": "<a><!DOCTYPE a></a>",
		"entity.sch": `<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, "open.sch": "<a><b></a>",
	}
	including := map[string]string{
		"loop.sch": "the file includes itself", "none.sch": "no such file",
		"whole.sch": "it is a whole schema", "whole.sch#x": `no element with the id "x"`,
		"doctype.sch": "it has a DOCTYPE", "entity.sch": "invalid character entity &b;",
		"open.sch":               "</a> closes nothing",
		server.URL + "/part.sch": "is not fetched: allow it with --allow-host " + address.Hostname(),
	}
	for href := range including {
		name := strings.NewReplacer("/", "_", ":", "_", "#", "_").Replace(href)
		files[name+".yaml"] = stepFile("schematron", "{schema: "+name+".first.sch}")
		files[name+".first.sch"] = schematron(`<include href="` + href + `"/>`)
	}
	files["loop.sch"] = schematron(`<include href="loop.sch"/>`)
	files["remote.yaml"] = stepFile("schematron", "{schema: "+server.URL+"/site.sch}")
	files["steal.yaml"] = stepFile("schematron", "{schema: "+server.URL+"/steal.sch}")
	path := folder(t, files)
	for href, want := range including {
		name := strings.NewReplacer("/", "_", ":", "_", "#", "_").Replace(href) + ".yaml"
		if _, err := NewBundler(nil, silent).Bundle(t.Context(), path(name)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("bundle what includes %s = %v, want %q", href, err, want)
		}
	}
	allowed := local(address.Hostname())
	if _, err := allowed.Bundle(t.Context(), path("remote.yaml")); err != nil {
		t.Errorf("bundle what includes from its own host = %v", err)
	}
	const want = "neither a relative path nor a web address"
	if _, err := allowed.Bundle(t.Context(), path("steal.yaml")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("bundle what includes a file of this machine = %v, want %q", err, want)
	}
}

func TestBundleTableSchemas(t *testing.T) {
	t.Parallel()
	path := folder(t, map[string]string{
		"flows/site.yaml":   stepFile("table", "{schema: ../schemas/site.json}"),
		"schemas/site.json": `{"fields": [{"name": "id", "type": "integer"}]}`,
	})
	config := bundled(t, NewBundler(nil, silent), path("flows/site.yaml"))
	if _, faults := engines.Compile(engines.KindTable, config, engines.DefaultLimits()); len(faults) > 0 {
		t.Errorf("faults = %+v of %s", faults, config)
	}
}

func TestBundleIDS(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/samples/schemas/house.ids")
	if err != nil {
		t.Fatal(err)
	}
	path := folder(t, map[string]string{
		"flows/site.yaml": stepFile("ids", "{ids: ../house.ids}"),
		"house.ids":       string(text),
	})
	config := bundled(t, NewBundler(nil, silent), path("flows/site.yaml"))
	if _, faults := engines.Compile(engines.KindIDS, config, engines.DefaultLimits()); len(faults) > 0 {
		t.Errorf("faults = %+v of %s", faults, config)
	}
	_, faults := engines.Compile(engines.KindIDS, json.RawMessage(`{"ids": "../house.ids"}`), engines.DefaultLimits())
	if len(faults) != 1 || !strings.HasSuffix(faults[0].Detail, "run: simplevalidations workflows bundle") {
		t.Errorf("faults of the name of a file = %+v, want one that says how to bundle it", faults)
	}
}
