package config

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The template for operators has each setting once: with its default behind #, or with what an installation sets.
func TestSettingsAreInTheTemplate(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("deploy", "simplevalidations.env"))
	if err != nil {
		t.Fatal(err)
	}
	var got, want, environ []string
	defaults := make(map[string]string)
	for _, setting := range describe(Settings{}) {
		want = append(want, setting.name)
		defaults[setting.name] = setting.fallback
	}
	for _, line := range regexp.MustCompile(`(?m)^(#?)([A-Z_]+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
		name, value := line[2], strings.Trim(line[3], "'")
		got = append(got, name)
		if isSet := line[1] == ""; isSet {
			environ = append(environ, name+"="+value)
		} else if value != defaults[name] {
			t.Errorf("%s=%s, want the default %q", name, value, defaults[name])
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-service +template):\n%s", diff)
	}
	if _, unknown, err := LoadSettings(environ); err != nil || len(unknown) > 0 {
		t.Errorf("the template as it is: unknown %v, %v", unknown, err)
	}
}
