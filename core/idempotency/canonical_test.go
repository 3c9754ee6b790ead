package idempotency_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

const maxDepth = 50

func TestDigestJSONSameMeaning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, one, other string }{
		{"member order", `{"a":1,"b":2}`, `{"b":2,"a":1}`},
		{"member order inside", `{"x":[{"a":1,"b":{"c":1,"d":2}}]}`, `{"x":[{"b":{"d":2,"c":1},"a":1}]}`},
		{"order of names beyond the BMP", `{"\ud83d\ude00":1,"\uffee":2}`, "{\"\uffee\":2,\"\U0001f600\":1}"},
		{"white space", `{"a":[1,2]}`, " {\r\n\t\"a\" : [ 1 , 2 ] }\n"},
		{"escape of a letter", `{"a":"b"}`, `{"\u0061":"\u0062"}`},
		{"escape of a slash", `"a/b"`, `"a\/b"`},
		{"escape of a control character", `"\n\t\u001f"`, `"\u000A\u0009\u001F"`},
		{"escape of a non-ASCII letter", `"ä"`, `"\u00e4"`},
		{"surrogate pair", `"😀"`, `"\ud83d\ude00"`},
		{"NUL", `"\u0000"`, ` "\u0000" `},
		{"huge number", `1e400`, "1e400\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if digestOf(t, tt.one) != digestOf(t, tt.other) {
				t.Errorf("digests of %s and %s differ, want equal", tt.one, tt.other)
			}
		})
	}
}

func TestDigestJSONOtherMeaning(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, one, other string }{
		{"array order", `[1,2]`, `[2,1]`},
		{"absent and null", `{}`, `{"a":null}`},
		{"number and text", `1`, `"1"`},
		{"integer and decimal", `1`, `1.0`},
		{"exponents", `1e2`, `1E2`},
		{"exponent and integer", `1e2`, `100`},
		{"zero and negative zero", `0`, `-0`},
		{"integers that one float stands for", `9007199254740993`, `9007199254740992`},
		{"decimals that one float stands for", `0.1`, `0.1000000000000000055511151231257827`},
		{"numbers beyond a float", `1e400`, `1e500`},
		{"case of a name", `{"a":1}`, `{"A":1}`},
		{"Unicode forms", `"\u00e4"`, `"a\u0308"`},
		{"member moved inward", `{"a":{"b":1},"c":2}`, `{"a":{"b":1,"c":2}}`},
		{"true and false", `true`, `false`},
		{"empty array and object", `[]`, `{}`},
		{"space in a string", `"a b"`, `"ab"`},
		{"escaped backslash", `"\\u0061"`, `"a"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if digestOf(t, tt.one) == digestOf(t, tt.other) {
				t.Errorf("digests of %s and %s are equal, want different", tt.one, tt.other)
			}
		})
	}
}

func TestDigestJSONNoCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, content, pointer string }{
		{"nothing", ``, ""},
		{"white space", " \n", ""},
		{"byte order mark", "\ufeff{}", ""},
		{"trailing data", `{} {}`, ""},
		{"trailing comma", `{"a":1,}`, ""},
		{"cut off", `{"a":`, "/a"},
		{"cut off in a string", `"a`, ""},
		{"cut off behind a backslash", `"a\`, ""},
		{"duplicate name", `{"a":{"b":1,"b":2}}`, "/a/b"},
		{"duplicate name behind an escape", `{"a":1,"\u0061":2}`, "/a"},
		{"bad UTF-8", "[\"\xff\"]", "/0"},
		{"overlong UTF-8", "\"\xc0\x80\"", ""},
		{"lone high surrogate", `{"a":"\ud800"}`, "/a"},
		{"lone low surrogate", `"\udc00"`, ""},
		{"raw NUL in a string", "\"\x00\"", ""},
		{"NaN", `NaN`, ""},
		{"leading zero", `01`, ""},
		{"comment", `/* */ 1`, ""},
		{"single quotes", `'a'`, ""},
		{"too deep", nested(maxDepth + 1), ""},
		{"far too deep", strings.Repeat(`{"a":`, 1<<18), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := idempotency.DigestJSON([]byte(tt.content), maxDepth)
			var jsonErr *idempotency.JSONError
			if !errors.Is(err, idempotency.ErrNotCanonical) || !errors.As(err, &jsonErr) {
				t.Fatalf("error = %v, want a *JSONError", err)
			}
			if jsonErr.Pointer != tt.pointer {
				t.Errorf("pointer = %q, want %q", jsonErr.Pointer, tt.pointer)
			}
			if jsonErr.Reason == "" || strings.Contains(jsonErr.Reason, "jsontext") {
				t.Errorf("reason = %q, want plain words", jsonErr.Reason)
			}
		})
	}
}

func TestDigestJSON(t *testing.T) {
	t.Parallel()
	t.Run("KeepsItsRules", func(t *testing.T) {
		t.Parallel()
		got := digestOf(t, `{"b":[1.0, null], "a":"\u00e4\/"}`)
		if want := idempotency.DigestBytes([]byte(`{"a":"ä/","b":[1.0,null]}`)); got != want {
			t.Errorf("digest = %x, want %x (another form needs another FingerprintVersion)", got, want)
		}
	})
	t.Run("AllowsTheGreatestDepth", func(t *testing.T) {
		t.Parallel()
		digestOf(t, nested(maxDepth))
	})
	t.Run("CountsNoBracketsInStrings", func(t *testing.T) {
		t.Parallel()
		digestOf(t, `"\"`+strings.Repeat("[", 2*maxDepth)+`"`)
	})
	t.Run("RepeatsNoLongNames", func(t *testing.T) {
		t.Parallel()
		long := strings.Repeat("n", 10_000)
		_, err := idempotency.DigestJSON([]byte(`{"a":{"`+long+`":1,"`+long+`":2}}`), maxDepth)
		var jsonErr *idempotency.JSONError
		if !errors.As(err, &jsonErr) || jsonErr.Pointer != "/a" {
			t.Errorf("error = %.100v, want the pointer /a", err)
		}
	})
	t.Run("LeavesTheContentAlone", func(t *testing.T) {
		t.Parallel()
		content := []byte(`{"b": 1, "a": "\u0062"}`)
		before := bytes.Clone(content)
		digestOf(t, string(content))
		if !bytes.Equal(content, before) {
			t.Errorf("content = %s, want %s", content, before)
		}
	})
}

// FuzzDigestJSON checks that a text and its re-encodings by another library have one digest.
func FuzzDigestJSON(f *testing.F) {
	for _, content := range []string{
		`{"b":[1,2.50,-0,1e400],"a":"\u00e4\n"}`, `[[],{},null,true]`, `"\ud800"`, `{"a":1,"a":2}`, nested(20), "1 2",
	} {
		f.Add([]byte(content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		want, err := idempotency.DigestJSON(content, maxDepth)
		if err != nil {
			if !errors.Is(err, idempotency.ErrNotCanonical) {
				t.Fatalf("error = %v, want ErrNotCanonical", err)
			}
			return
		}
		for _, text := range reencodings(t, content) {
			got, err := idempotency.DigestJSON(text, maxDepth)
			if err != nil || got != want {
				t.Fatalf("digest of %q = %x, %v, want %x as of %q", text, got, err, want, content)
			}
		}
	})
}

// reencodings are the content indented, and decoded into sorted members with other escapes.
func reencodings(tb testing.TB, content []byte) [][]byte {
	tb.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, content, "\t", "  "); err != nil {
		tb.Fatalf("indent %q: %v", content, err)
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		tb.Fatalf("decode %q: %v", content, err)
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		tb.Fatalf("encode %q: %v", content, err)
	}
	return [][]byte{indented.Bytes(), encoded}
}

func digestOf(tb testing.TB, content string) idempotency.Digest {
	tb.Helper()
	digest, err := idempotency.DigestJSON([]byte(content), maxDepth)
	if err != nil {
		tb.Fatalf("DigestJSON(%s): %v", content, err)
	}
	return digest
}

func nested(depth int) string {
	return strings.Repeat("[", depth) + strings.Repeat("]", depth)
}
