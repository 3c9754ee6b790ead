package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port/process"
)

// lines is a schema with this content, on lines of its own.
func lines(content string) string {
	return `<schema xmlns="http://purl.oclc.org/dsdl/schematron">` + "\n" + content + "\n</schema>\n"
}

// folder makes files, and returns what finds them.
func folder(tb testing.TB, files map[string]string) func(name string) string {
	tb.Helper()
	top := tb.TempDir()
	for name, content := range files {
		file := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return func(name string) string { return filepath.Join(top, name) }
}

// bundled is what the program writes to standard output, or its complaint.
func bundled(tb testing.TB, file string) (string, string) {
	tb.Helper()
	command := exec.CommandContext(tb.Context(), process.Built, "bundle", file)
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.Output()
	if (err != nil) != (complaint.Len() > 0) {
		tb.Errorf("bundle = %v, and says %q", err, complaint.String())
	}
	return string(output), complaint.String()
}

func TestBundle(t *testing.T) {
	t.Parallel()
	const namespace = ` xmlns:sch="http://purl.oclc.org/dsdl/schematron"`
	path := folder(t, map[string]string{
		"rules/site.sch": "<?xml version=\"1.0\"?>\n" + lines(`  <include href="parts/names.sch"/>
  <pattern><rule context="zone"><extends href="parts/areas.sch#area"/>
    <assert id="tag" test="@tag">no tag</assert></rule></pattern>`),
		// The prefix is declared around the rule, and one of the files is written on Windows.
		"rules/parts/areas.sch": "\ufeff<sch:schema" + namespace + ">\r\n <sch:pattern>\r\n" +
			`  <sch:rule abstract="true" id="area"><sch:assert id="area" test="@area > 0">no area</sch:assert>` +
			"\r\n</sch:rule></sch:pattern></sch:schema>",
		"rules/parts/names.sch": "<!-- names --><x:pattern" + strings.ReplaceAll(namespace, ":sch", ":x") +
			`><x:rule context="site"><x:include href="../deep/name.sch"/></x:rule></x:pattern>`,
		"rules/deep/name.sch": `<assert xmlns="http://purl.oclc.org/dsdl/schematron" id="name" test="@name">?</assert>`,
		"rules/latin.sch": `<?xml version="1.0" encoding="ISO-8859-1"?>` + "\n" +
			lines("<include href=\"latin-names.sch\"/><!-- \xe9 -->"),
		"rules/latin-names.sch": `<?xml version="1.0" encoding="ISO-8859-1"?>` +
			`<pattern xmlns="http://purl.oclc.org/dsdl/schematron"><rule context="site">` +
			`<assert id="latin" test="@name">` + "\xe9</assert></rule></pattern>",
	})
	for name, want := range map[string][]string{
		"rules/site.sch": {"name", "area", "tag"}, "rules/latin.sch": {"latin"}, "rules/parts/areas.sch": {},
	} {
		whole, complaint := bundled(t, path(name))
		if complaint != "" {
			t.Fatal(complaint)
		}
		failed := []string{}
		for _, f := range run(t, compile(t, step(t, whole, "")), `<site><zone area="0"/></site>`).Findings {
			failed = append(failed, f.AssertionID)
		}
		same(t, want, failed)
		if name == "rules/site.sch" && !strings.Contains(whole, "\n  <x:pattern") {
			t.Errorf("schema = %s, want all else as it is written", whole)
		}
	}
}

func TestBundleRefusesIncludes(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"whole.sch": lines(``), "doctype.sch": "<a><!DOCTYPE a></a>",
		"entity.sch": `<a>&b;</a>`, "open.sch": "<a><b></a>", "loop.sch": lines(`<include href="loop.sch"/>`),
	}
	including := map[string]string{
		"loop.sch": "the file includes itself", "none.sch": "no such file", "whole.sch": "it is a whole schema",
		"whole.sch#x": `no element with the id "x"`, "doctype.sch": "it has a DOCTYPE",
		"entity.sch": "invalid character entity &b;", "open.sch": "</a> closes nothing",
		"https://example.org/part.sch": "only files by relative paths", "/etc/hostname": "only files by relative paths",
	}
	name := strings.NewReplacer("/", "_", ":", "_", "#", "_").Replace
	for href := range including {
		files["first-"+name(href)] = lines(`<include href="` + href + `"/>`)
	}
	path := folder(t, files)
	for href, want := range including {
		if _, complaint := bundled(t, path("first-"+name(href))); !strings.Contains(complaint, want) {
			t.Errorf("bundle what includes %s: %q, want %q", href, complaint, want)
		}
	}
}
