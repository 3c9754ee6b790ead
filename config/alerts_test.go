package config_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Each alert has time series with which it fires and clears; promtool (.ci/setup promtool) evaluates them.
func TestAlertsFireAndClear(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("deploy", "prometheus")
	for _, args := range [][]string{
		{"check", "rules", filepath.Join(folder, "rules.yaml")},
		{"test", "rules", filepath.Join(folder, "rules_test.yaml")},
	} {
		if output, err := exec.CommandContext(t.Context(), "promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %v: %v\n%s", args, err, output)
		}
	}

	var tests struct {
		Tests []struct {
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	text, err := os.ReadFile(filepath.Join(folder, "rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, &tests); err != nil {
		t.Fatal(err)
	}
	fires, clears := map[string]bool{}, map[string]bool{}
	for _, test := range tests.Tests {
		for _, c := range test.Cases {
			fires[c.Alert] = fires[c.Alert] || len(c.Expected) > 0
			clears[c.Alert] = clears[c.Alert] || fires[c.Alert] && len(c.Expected) == 0
		}
	}
	for _, rule := range alerts(t) {
		if !fires[rule.Alert] || !clears[rule.Alert] {
			t.Errorf("%s: fires %v and clears %v in the tests, want both",
				rule.Alert, fires[rule.Alert], clears[rule.Alert])
		}
	}
}
