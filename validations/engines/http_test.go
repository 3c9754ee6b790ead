package engines_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func compiledHTTP(tb testing.TB, config string) *engines.HTTP {
	tb.Helper()
	engine, ok := compile(tb, engines.KindHTTP, config).(*engines.HTTP)
	if !ok {
		tb.Fatal("the engine is not an HTTP engine")
	}
	return engine
}

func TestCompileHTTP(t *testing.T) {
	t.Parallel()

	t.Run("HasDefaults", func(t *testing.T) {
		t.Parallel()
		got := compiledHTTP(t, `{"url":"https://checks.example/v1"}`)
		if got.URL != "https://checks.example/v1" || !got.Idempotent || got.AttemptTimeout != 30*time.Second ||
			got.CallbackTimeout != 0 {
			t.Errorf("engine = %+v", got)
		}
	})

	t.Run("TakesEverything", func(t *testing.T) {
		t.Parallel()
		got := compiledHTTP(t, `{"url":"https://checks.example:8443/v1?site=7","headers":{"X-Site":"north"},
			"parameters":{"year":2026},"attempt_timeout_seconds":5,"idempotent":false,"callback_timeout_seconds":3600,
			"severities":{"roof.low":"WARNING"}}`)
		if got.Headers["X-Site"] != "north" || string(got.Parameters) != `{"year":2026}` || got.Idempotent ||
			got.AttemptTimeout != 5*time.Second || got.CallbackTimeout != time.Hour {
			t.Errorf("engine = %+v", got)
		}
	})

	t.Run("DoesNotRunByItself", func(t *testing.T) {
		t.Parallel()
		engine := compile(t, engines.KindHTTP, `{"url":"https://checks.example"}`)
		if _, err := engine.Run(t.Context(), engines.NewDocument([]byte("{}"), "application/json", "")); err == nil {
			t.Error("Run = nil, want an error")
		}
	})
}

func TestCompileHTTPRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ members, pointer, code string }{
		"UnknownMembers":   {`"x":1`, "/x", "config.unknown"},
		"Secrets":          {`"headers":{"X-Api-Key":"1"}`, "/headers/X-Api-Key", "http.headers"},
		"Authorization":    {`"headers":{"authorization":"1"}`, "/headers/authorization", "http.headers"},
		"OurHeaders":       {`"headers":{"Sv-Run":"1"}`, "/headers/Sv-Run", "http.headers"},
		"HopByHop":         {`"headers":{"Connection":"1"}`, "/headers/Connection", "http.headers"},
		"HeaderInjection":  {`"headers":{"X-A":"a\r\nHost: b"}`, "/headers/X-A", "http.headers"},
		"NoHeaderName":     {`"headers":{"X A":"a"}`, "/headers/X A", "http.headers"},
		"ForeignLetters":   {`"headers":{"X-\u212A":"a"}`, "/headers/X-\u212A", "http.headers"},
		"ParametersList":   {`"parameters":[]`, "/parameters", "http.parameters"},
		"NoTime":           {`"attempt_timeout_seconds":0`, "/attempt_timeout_seconds", "http.timeout"},
		"TooMuchTime":      {`"attempt_timeout_seconds":301`, "/attempt_timeout_seconds", "http.timeout"},
		"CallbackTooLate":  {`"callback_timeout_seconds":604801`, "/callback_timeout_seconds", "http.timeout"},
		"UnknownSeverity":  {`"severities":{"a":"FATAL"}`, "/severities/a", "http.severities"},
		"CodeWithoutSense": {`"severities":{"a b":"INFO"}`, "/severities/a b", "http.severities"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := refused(t, engines.KindHTTP, `{"url":"https://a.example",`+tt.members+`}`)
			if got.Pointer != tt.pointer || got.Code != tt.code {
				t.Errorf("fault = %+v, want %s at %s", got, tt.code, tt.pointer)
			}
		})
	}
}

func TestCompileHTTPAddresses(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"https://checks.example", "https://checks.example.", "http://10.0.0.7:8080/a", "https://[2001:db8::1]/a?b=c",
		"https://xn--bcher-kva.example/", "https://a_b.example:443",
	} {
		compiledHTTP(t, `{"url":`+quoted(t, address)+`}`)
	}
	refused(t, engines.KindHTTP, `{}`)
	for _, address := range []string{
		"", "checks.example", "//checks.example", "ftp://a.example", "file:///etc/passwd", "gopher://a.example",
		"unix:///run/a", "https:a.example", "https://", "https:///a", "https://user@a.example", "https://u:p@a.example",
		"https://a.example#b", "https://a.example/#", "https://a.example\\@b.example", "https://a.example/\tb",
		"https://a.example\r\n", "https://b\u00fccher.example", "https://a\u3002example", "https://a.example:0",
		"https://a.example:65536", "https://a.example:", "https://a.example:x", "https://127.1", "https://2130706433",
		"https://0x7f000001", "https://0177.0.0.1", "https://1.2.3.4.", "https://a.0x7f", "https://a..example",
		"https://.example", "https://[fe80::1%25eth0]/", "https://[::1", "https://a%2eexample",
		"https://a.example/" + strings.Repeat("a", 2000),
	} {
		got := refused(t, engines.KindHTTP, `{"url":`+quoted(t, address)+`}`)
		if got.Pointer != "/url" {
			t.Errorf("fault of %q = %+v, want one at /url", address, got)
		}
	}
}

func quoted(tb testing.TB, text string) string {
	tb.Helper()
	encoded, err := json.Marshal(text)
	if err != nil {
		tb.Fatal(err)
	}
	return string(encoded)
}

func TestReadHTTP(t *testing.T) {
	t.Parallel()
	h := compiledHTTP(t, `{"url":"https://a.example","severities":{"known":"INFO"}}`)

	t.Run("Passes", func(t *testing.T) {
		t.Parallel()
		for _, body := range []string{
			`{"result":"PASS"}`, `{"result":"PASS","findings":[]}`, `{"result":"PASS","version":[{"a":null}]}`,
		} {
			if got, err := h.Read([]byte(body)); err != nil || got.Errors != 0 || len(got.Findings) != 0 {
				t.Errorf("report of %s = %+v, %v, want none found", body, got, err)
			}
		}
	})

	t.Run("TakesFindings", func(t *testing.T) {
		t.Parallel()
		got, err := h.Read([]byte(`{"result":"FAIL","truncated":true,"findings":[
			{"severity":"ERROR","code":"roof.low","message":"The roof is low","path":"/roof","line":3,
				"column":4,"row":5,"excerpt":"x","count":6},
			{"severity":"ERROR","code":"known","message":"Known","unknown":1},
			{"severity":"WARNING","code":"w","message":"W"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		want := engines.Report{
			Errors: 6, Warnings: 1, Infos: 1, Truncated: true,
			Findings: []engines.Finding{
				{
					Severity: engines.SeverityError, Code: "external.roof.low", Message: "The roof is low",
					Path: "/roof", Line: 3, Column: 4, Row: 5, Excerpt: "x", Count: 6,
				},
				{Severity: engines.SeverityInfo, Code: "external.known", Message: "Known", Count: 1},
				{Severity: engines.SeverityWarning, Code: "external.w", Message: "W", Count: 1},
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("report (-want +got):\n%s", diff)
		}
	})

	t.Run("FailsWithoutAReason", func(t *testing.T) {
		t.Parallel()
		got, err := h.Read([]byte(`{"result":"FAIL","findings":[{"severity":"INFO","code":"i","message":"I"}]}`))
		if err != nil || got.Errors != 1 || got.Findings[1].Code != "external.failed" {
			t.Errorf("report = %+v, %v, want external.failed", got, err)
		}
	})

	t.Run("PassesWhereTheWorkflowMakesLessOfTheFindings", func(t *testing.T) {
		t.Parallel()
		got, err := h.Read([]byte(`{"result":"FAIL","findings":[{"severity":"ERROR","code":"known","message":"K"}]}`))
		if err != nil || got.Errors != 0 || got.Infos != 1 {
			t.Errorf("report = %+v, %v, want one INFO", got, err)
		}
	})
}

func TestReadHTTPRefuses(t *testing.T) {
	t.Parallel()
	h := compiledHTTP(t, `{"url":"https://a.example"}`)
	finding := func(members string) string { return `{"result":"FAIL","findings":[{` + members + `}]}` }
	const good = `"severity":"ERROR","code":"c","message":"M"`
	for name, body := range map[string]string{
		"Nothing": "", "HTML": "<html>all is well</html>", "Text": "PASS", "Null": "null", "List": `["PASS"]`,
		"NoResult": `{}`, "AnotherResult": `{"result":"pass"}`, "AnotherName": `{"Result":"PASS"}`,
		"CutOff": `{"result":"PASS"`, "MoreBehind": `{"result":"PASS"} {"result":"FAIL"}`,
		"TwoResults": `{"result":"FAIL","result":"PASS"}`, "BadUTF8": "{\"result\":\"PASS\",\"a\":\"\xff\"}",
		"Contradiction": `{"result":"PASS","findings":[{` + good + `}]}`,
		"NoFinding":     finding(""), "NoSeverity": finding(`"code":"c","message":"M"`),
		"AnotherSeverity": finding(`"severity":"FATAL","code":"c","message":"M"`),
		"NoCode":          finding(`"severity":"ERROR","message":"M"`),
		"BadCode":         finding(`"severity":"ERROR","code":"a b","message":"M"`),
		"NoMessage":       finding(`"severity":"ERROR","code":"c","message":" "`),
		"NegativeLine":    finding(good + `,"line":-1`), "HugeCount": finding(good + `,"count":4294967296`),
		"TextForLine": finding(good + `,"line":"1"`), "FindingsNoList": `{"result":"PASS","findings":{}}`,
		"FindingsNull":  `{"result":"PASS","findings":null}`,
		"Deep":          strings.Repeat("[", 500_000),
		"Large":         `{"result":"PASS","a":"` + strings.Repeat("a", 1<<20) + `"}`,
		"ManyOfNothing": `{"result":"FAIL","findings":[` + strings.Repeat("{},", 300_000) + `{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := h.Read([]byte(body))
			if err == nil {
				t.Fatalf("report = %+v, want an error", got)
			}
			if text := err.Error(); len(text) > 200 || strings.Contains(text, "all is well") {
				t.Errorf("error = %q, want a short one without the answer's own words", text)
			}
		})
	}
}

func TestReadHTTPBoundsItsReport(t *testing.T) {
	t.Parallel()
	h := compiledHTTP(t, `{"url":"https://a.example"}`)
	one := `{"severity":"ERROR","code":"c","message":"` + strings.Repeat("m", 30) + `"}`
	body := `{"result":"FAIL","findings":[` + strings.Repeat(one+",", 10_000) + one + `]}`
	got, err := h.Read([]byte(body))
	if err != nil || got.Errors != 10_001 || len(got.Findings) > 1000 || !got.Truncated {
		t.Errorf("report = %d errors, %d findings, truncated %t, %v; want 10001 folded into 1000 at most",
			got.Errors, len(got.Findings), got.Truncated, err)
	}
}

func FuzzReadHTTP(f *testing.F) {
	f.Add([]byte(`{"result":"FAIL","findings":[{"severity":"ERROR","code":"c","message":"M","line":1}]}`))
	f.Add([]byte(`{"result":"PASS","findings":[]}`))
	f.Add([]byte("\xff{"))
	engine, faults := engines.Compile(engines.KindHTTP, []byte(`{"url":"https://a.example"}`), engines.DefaultLimits())
	h, ok := engine.(*engines.HTTP)
	if !ok {
		f.Fatal(faults)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		report, err := h.Read(body)
		if err != nil {
			return
		}
		var answer struct {
			Result string `json:"result"`
		}
		if json.Unmarshal(body, &answer) != nil {
			t.Fatalf("a report of what is no JSON: %q", body)
		}
		if failed := answer.Result == "FAIL"; failed != (report.Errors > 0) {
			t.Errorf("errors = %d for %s", report.Errors, answer.Result)
		}
	})
}
