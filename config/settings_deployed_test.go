package config

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/docs"
)

var update = flag.Bool("update", false, "write deploy/simplevalidations.env anew")

const templateHead = `# Settings of the service, for systemd (EnvironmentFile) and for a shell (set -a; . FILE; set +a).
# This file is made from the table in docs/guides/configuration.md by
# go test ./config -run TestSettingsTemplate -update.
# Lines with # have the default. "simplevalidations config show" prints the values in effect.
#
# Keep secrets in files of their own, and set variables of the same name with _FILE at the end to their paths: the units
# in systemd, the services in compose and the manifests in kubernetes do so.
`

// TestSettingsTemplate compares the file for operators with the table of settings: each with its default, or with what
// an installation sets.
func TestSettingsTemplate(t *testing.T) {
	t.Parallel()
	page, ok := docs.Page("guides/configuration")
	if !ok {
		t.Fatal("there is no page on configuration")
	}
	set := map[string]string{
		"SV_BASE_URL": "https://validate.example.org", "SV_TRUSTED_PROXIES": "127.0.0.1/32", "SV_LOG_FORMAT": "json",
	}
	var text strings.Builder
	text.WriteString(templateHead)
	var environ []string
	for _, row := range settingRow().FindAllStringSubmatch(string(page), -1) {
		name, fallback, meaning := row[1], row[2], row[3]
		text.WriteString("\n" + comment(meaning))
		if value, isSet := set[name]; isSet {
			environ = append(environ, name+"="+value)
			text.WriteString(name + "=" + value + "\n")
			continue
		}
		value, isValue := strings.CutPrefix(strings.TrimSuffix(fallback, "`"), "`")
		switch {
		case !isValue && fallback != "":
			value = "" // The default depends on the machine.
		case strings.Contains(value, " "):
			value = "'" + value + "'"
		}
		text.WriteString("#" + name + "=" + value + "\n")
	}
	if _, unknown, err := LoadSettings(environ); err != nil || len(unknown) > 0 {
		t.Errorf("the template as it is: unknown %v, %v", unknown, err)
	}

	path := filepath.Join("deploy", "simplevalidations.env")
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text.String(), string(got)); diff != "" {
		t.Errorf("%s differs from the table of settings; write it anew with -update (-want +got):\n%s", path, diff)
	}
}

// comment returns a text in Markdown as the lines of a comment.
func comment(markdown string) string {
	plain := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`).ReplaceAllString(markdown, "$1")
	var lines strings.Builder
	line := "#"
	for word := range strings.FieldsSeq(strings.ReplaceAll(plain, "`", "")) {
		if len(line)+len(" ")+len(word) > 120 {
			lines.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	return lines.String() + line + "\n"
}
