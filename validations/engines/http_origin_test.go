package engines_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://checks.example":                 "https://checks.example",
		"https://checks.example/roofs?site=7":    "https://checks.example",
		"https://Checks.Example.:443/":           "https://checks.example",
		"HTTPS://checks.example:8443":            "https://checks.example:8443",
		"http://checks.example:80/":              "http://checks.example",
		"http://checks.example:443/":             "http://checks.example:443",
		"https://[2001:DB8::1]/":                 "https://[2001:db8::1]",
		"https://[2001:db8::1]:8443/":            "https://[2001:db8::1]:8443",
		"https://checks.example:08443/leading-0": "https://checks.example:8443",
	} {
		if got := compiledHTTP(t, `{"url":"`+address+`"}`).Origin(); got != want {
			t.Errorf("origin of %s = %s, want %s", address, got, want)
		}
		if got, fault := engines.ParseOrigin(address); got != want || fault != "" {
			t.Errorf("ParseOrigin(%s) = %s, %s, want %s", address, got, fault, want)
		}
	}
	for _, address := range []string{"", "checks.example", "https://a@checks.example", "ftp://checks.example"} {
		if got, fault := engines.ParseOrigin(address); got != "" || fault == "" {
			t.Errorf("ParseOrigin(%s) = %s, want a fault", address, got)
		}
	}
}
