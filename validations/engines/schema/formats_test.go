package schema_test

import (
	"encoding/json"
	"testing"
)

// formatTexts are texts that are of a format, and texts that are not.
type formatTexts struct {
	format    string
	good, bad []string
}

// TestFormats checks the edges of the grammars. The formats of the library are wrong on most of these texts.
func TestFormats(t *testing.T) {
	t.Parallel()
	for _, texts := range formatEdges() {
		t.Run(texts.format, func(t *testing.T) {
			t.Parallel()
			engine := compile(t, "json_schema", `{"schema": {"format": "`+texts.format+`"}}`)
			verdicts := map[string]bool{}
			want := map[string]bool{}
			for _, text := range texts.good {
				want[text] = true
			}
			for _, text := range texts.bad {
				want[text] = false
			}
			for text := range want {
				document, err := json.Marshal(text)
				if err != nil {
					t.Fatalf("write %q: %v", text, err)
				}
				verdicts[text] = run(t, engine, document, "application/json").Errors == 0
			}
			same(t, want, verdicts)
		})
	}
}

func formatEdges() []formatTexts {
	return []formatTexts{
		{
			"uri-template",
			[]string{
				"", "/a/{b}", "{#a}", "{/a}", "{?a,b*}", "{&a}",
				"{;a}", "{.a}", "{+a:3}", "{a.b}", "{%41}", "{a:1000}",
				"it's/ä",
			},
			[]string{
				"{}", "{a", "a}", "{{a}}", "{a,}", "{a,,b}",
				"{a..b}", "{a:0}", "{a:10000}", "{a=b}", "{,a}", "a b", "%4",
			},
		},
		{
			"time",
			[]string{"23:59:60Z", "01:29:60+01:30", "15:59:60-08:00", "08:30:06.5z"},
			[]string{
				"+1:00:00Z", "-0:00:00Z", "01:+5:00Z", "01:00:+5Z",
				"01:00:00++1:00", "22:59:60Z", "24:00:00Z", "01:00:00",
				"23:59:60-01:00",
			},
		},
		{
			"date-time",
			[]string{"2024-02-29T00:00:00Z", "2016-12-31t23:59:60.1Z"},
			[]string{
				"2023-02-29T00:00:00Z", "2024-02-29 00:00:00Z", "2024-02-29", "2024-02-29T+1:00:00Z", "2024-02-29T",
			},
		},
		{
			"duration",
			[]string{"P1Y", "P1Y2M3DT4H5M6S", "PT36H", "P2W", "P1DT1M", "PT5M6S"},
			[]string{"P", "PT", "P1DT", "P1Y2D", "PT1H2S", "P1Y2W", "PT0.5S", "P1", "P-1D", "P1D "},
		},
		{
			"ipv4",
			[]string{"0.0.0.0", "255.255.255.255"},
			[]string{"+1.2.3.4", "1.2.3.-0", "1.2.3.04", "1.2.3.256", "::ffff:1.2.3.4", "1.2.3"},
		},
		{
			"hostname",
			[]string{"a--b.com", "1a", "xn--nw2a.xn--j6w193g"},
			[]string{"example.com.", ".", "", "a_b", "-a", "a-.b", "a..b", "ä.example"},
		},
		{
			"email",
			[]string{
				"a+b@c.example", `"a b@c"@d`, `"a\"b"@c`, "a@[127.0.0.1]", "a@[IPv6:::1]", "o'neil@x-y.example",
			},
			[]string{
				"@c.example", "a@", "a@b.", "a@b@c", "a..b@c",
				".a@c", `"a"b"@c`, "a@[127.0.0.300]", "a@[::1]", "a@[1.2.3.4",
				"ä@c.example", "a@[IPv6:fe80::1%eth0]",
			},
		},
		{
			"uri",
			[]string{
				"http://a%20b/", "http://[v1.fe]", "http://[V1.fe]:80", "mailto:a@b",
				"urn:a:b", "file:///", "a:", "http://a:/",
			},
			[]string{
				"http:/[::1]", "//a/b", "a", "1a:b",
				"http://a:b/", "http://[::g]/", "http://[::1", "http://[::1]a", "http://a@b@c/",
				"http://a/#b#c", "http://2001:db8::1/", "http://a/%4", "",
			},
		},
		{
			"uri-reference",
			[]string{"", "?a", "#a/?b", "./a:b", "//", "a/b:c"},
			[]string{"/[::1]", "//a@b@c/", "a:b[", "1:b", ":a", "#a#b", "#%"},
		},
		{
			"iri",
			[]string{"http://ƒøø.ßår/?q=\U000f0000", "http://[V1.fe]"},
			[]string{"http://a/\U000f0000", "http://a/\u200e b", "ä://b", "http://a/\ufdd0"},
		},
	}
}
