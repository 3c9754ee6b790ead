package idemcheck_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/idemcheck"
)

const shopDescription = `
request:
  url: /orders?channel=web
  headers: {Content-Type: application/json, Authorization: "Bearer ${TENANT}"}
  body: '{"reference": "{{ref}}", "amount": 12, "note": "a text to be cut in two, {{filler}}"}'
effects: {url: "/orders?reference={{ref}}"}
different:
  - body: '{"reference": "{{ref}}", "amount": 13, "note": ""}'
  - url: /refunds?channel=web
  - url: /orders?channel=shop
  - method: PUT
  - headers: {Content-Type: application/vnd.orders+json}
refused:
  - body: '{"reference": "{{ref}}", "amount": -1}'
failing: {body: '{"reference": "{{ref}}", "amount": 500}'}
slow: {body: '{"reference": "{{ref}}", "amount": 12, "delay_ms": 1500}'}
tenant: {headers: {Authorization: Bearer b}}
user: {headers: {Authorization: Bearer a-other}}
also: ${ALSO}
hooks: {restart: 'curl -sf "$SHOP/restart"', clear: "true"}
limits: {settle: 3s, rate: 1000, later: 100ms}
key: {lifetime: LIFETIME, required: REQUIRED, quoted: QUOTED}
`

// check checks a shop with the fault.
func check(t *testing.T, fault string, profile idemcheck.Profile, only ...string) idemcheck.Report {
	t.Helper()
	s := openShop(t, fault)
	variables := map[string]string{
		"TENANT": "a", "ALSO": strings.Replace(s.url, "127.0.0.1", "localhost", 1),
	}
	lookup := func(name string) (string, bool) {
		text, set := variables[name]
		return text, set
	}
	life := "0s"
	if strings.Contains(fault, "expires") {
		life = lifetime.String()
	}
	required := strconv.FormatBool(fault == "required" || fault == "optional")
	quoted := strconv.FormatBool(fault == "refuses-bare")
	text := strings.NewReplacer("LIFETIME", life, "REQUIRED", required, "QUOTED", quoted, `$SHOP`, s.url).
		Replace(shopDescription)
	d, err := idemcheck.Read([]byte(text), lookup)
	if err != nil {
		t.Fatal(err)
	}
	c := idemcheck.Checker{
		Description: d, Base: s.url, Profile: profile, Seed: 7, Jobs: 32, Only: only, Lookup: lookup,
	}
	plan, err := c.Plan()
	if err != nil {
		t.Fatal(err)
	}
	report, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report.Requests > int64(plan.MostRequests) {
		t.Errorf("requests = %d, want at most the %d that were announced", report.Requests, plan.MostRequests)
	}
	return report
}

// TestNoFalseAccusation has the correct server, and what is no fault by some profile.
func TestNoFalseAccusation(t *testing.T) {
	t.Parallel()
	for _, choice := range []string{"", "expires", "required", "waits", "busy-is-425", "accepts-empty"} {
		t.Run(choice, func(t *testing.T) {
			t.Parallel()
			report := check(t, choice, idemcheck.ProfileIETF)
			for _, result := range report.Results {
				switch {
				case result.Outcome == idemcheck.OutcomeFailed && result.Level == idemcheck.LevelMust,
					result.Outcome != idemcheck.OutcomePassed && choice == "" && result.Case.Needs != "lifetime":
					t.Errorf("%s = %s: %s\n%+v", result.Case.Name, result.Outcome, result.Reason, result.Seen)
				}
			}
			if !report.Conclusive() || report.Broken() {
				t.Error("the report is not conclusive, or broken")
			}
		})
	}
}

// TestPlantedFaults is the matrix: each fault, and the case that is named after what it breaks.
func TestPlantedFaults(t *testing.T) {
	t.Parallel()
	for fault, name := range map[string]string{
		"checks-then-acts":        "race/10",
		"claims-by-body":          "race/mixed",
		"leaks-to-tenants":        "tenant/same-request",
		"blocks-tenants":          "tenant/own-request",
		"stores-500":              "error/500-retry",
		"works-before-500":        "error/500-effect",
		"stores-400":              "error/corrected",
		"forgets-after-mismatch":  "mismatch/kept",
		"ignores-body":            "mismatch/body",
		"mismatch-is-400":         "mismatch/status",
		"ignores-path":            "mismatch/path",
		"ignores-query":           "mismatch/query",
		"ignores-method":          "mismatch/method",
		"ignores-type":            "mismatch/type",
		"spelling-matters":        "same/replay",
		"replays-other-body":      "replay/body",
		"replays-other-bytes":     "replay/bytes",
		"replays-as-200":          "replay/status",
		"replays-without-headers": "replay/headers",
		"unmarked":                "replay/marked",
		"by-connection":           "replay/connection",
		"by-protocol":             "replay/http2",
		"by-process":              "replay/process",
		"memory-only":             "replay/restart",
		"stuck-after-restart":     "restart/in-flight",
		"stuck-without-client":    "lost/client-gone",
		"forgets-without-client":  "lost/client-gone",
		"does-half-requests":      "lost/half-request",
		"answers-early":           "flight/early",
		"works-after-waiting":     "flight/effect",
		"busy-is-500":             "flight/answer",
		"busy-is-425":             "flight/status",
		"no-retry-after":          "flight/retry-after",
		"cuts-at-64":              "key/255",
		"cuts-at-255":             "key/256",
		"folds-case":              "key/case",
		"case-sensitive":          "key/name",
		"first-line":              "key/two-lines",
		"shares-empty":            "key/empty",
		"accepts-empty":           "key/empty-refused",
		"optional":                "key/missing",
		"refuses-quotes":          "key/quoted",
		"refuses-bare":            "key/bare",
		"keeps-quotes":            "key/two-forms",
		"random-beyond-ascii":     "key/non-ascii",
		"expires-early":           "expiry/kept",
		"never-expires":           "expiry/after",
		"length-matters":          "body/chunked",
		"reads-1000-bytes":        "body/large",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			profile := idemcheck.ProfileStrict
			if name == "flight/status" {
				profile = idemcheck.ProfileIETF
			}
			report := check(t, fault, profile, name)
			result := report.Results[0]
			if result.Outcome != idemcheck.OutcomeFailed {
				t.Fatalf("%s = %s, want failed: %s\n%+v", name, result.Outcome, result.Reason, result.Seen)
			}
			if len(result.Seen) == 0 || result.Reason == "" {
				t.Errorf("result = %+v, want a reason and what was seen", result)
			}
		})
	}
}
