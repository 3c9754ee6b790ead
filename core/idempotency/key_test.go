package idempotency_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func TestParseKeyAccepts(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("k", idempotency.MaxKeyLength)
	for _, tt := range []struct{ name, value, want string }{
		{"bare", "order-1", "order-1"},
		{"quoted", `"order-1"`, "order-1"},
		{"bare UUID", "0198c0de-0000-7000-8000-000000000001", "0198c0de-0000-7000-8000-000000000001"},
		{"quotation mark inside a bare key", `a"b`, `a"b`},
		{"escaped quotation mark", `"a\"b"`, `a"b`},
		{"backslash in a bare key", `a\b`, `a\b`},
		{"escaped backslash", `"a\\b"`, `a\b`},
		{"white space around it", " \torder-1\t ", "order-1"},
		{"inner spaces", "order  1", "order  1"},
		{"spaces within quotes", `" order 1 "`, " order 1 "},
		{"comma", "a, b", "a, b"},
		{"semicolon in a bare key", "a;b=1", "a;b=1"},
		{"first and last character", " !~", "!~"},
		{"one space in quotes", `" "`, " "},
		{"capital letters stay", "Order-1", "Order-1"},
		{"longest", longest, longest},
		{"longest in quotes", `"` + longest + `"`, longest},
		{"longest of escapes", `"` + strings.Repeat(`\"`, 255) + `"`, strings.Repeat(`"`, 255)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, given, err := idempotency.ParseKey(http.Header{"Idempotency-Key": {tt.value}})
			if err != nil || !given || key != tt.want {
				t.Errorf("ParseKey(%q) = %q, %t, %v, want %q, true, nil", tt.value, key, given, err, tt.want)
			}
		})
	}
}

func TestParseKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		lines []string
		want  api.Code
	}{
		{"empty", []string{""}, api.CodeKeyInvalid},
		{"white space", []string{" \t "}, api.CodeKeyInvalid},
		{"empty quotes", []string{`""`}, api.CodeKeyInvalid},
		{"two lines", []string{"a", "b"}, api.CodeKeyInvalid},
		{"two equal lines", []string{"a", "a"}, api.CodeKeyInvalid},
		{"tab inside", []string{"a\tb"}, api.CodeKeyInvalid},
		{"line feed", []string{"a\nb"}, api.CodeKeyInvalid},
		{"NUL", []string{"a\x00b"}, api.CodeKeyInvalid},
		{"DEL", []string{"a\x7f"}, api.CodeKeyInvalid},
		{"UTF-8", []string{"clé"}, api.CodeKeyInvalid},
		{"Latin-1", []string{"cl\xe9"}, api.CodeKeyInvalid},
		{"byte 0xFF in quotes", []string{"\"a\xff\""}, api.CodeKeyInvalid},
		{"quotation mark alone", []string{`"`}, api.CodeKeyInvalid},
		{"not closed", []string{`"a`}, api.CodeKeyInvalid},
		{"escaped closing mark", []string{`"a\"`}, api.CodeKeyInvalid},
		{"text behind it", []string{`"a"b`}, api.CodeKeyInvalid},
		{"list", []string{`"a", "b"`}, api.CodeKeyInvalid},
		{"parameter", []string{`"a";b=1`}, api.CodeKeyInvalid},
		{"flag", []string{`"a";b`}, api.CodeKeyInvalid},
		{"unknown escape", []string{`"a\n"`}, api.CodeKeyInvalid},
		{"too long", []string{strings.Repeat("k", 256)}, api.CodeKeyTooLong},
		{"too long in quotes", []string{`"` + strings.Repeat("k", 256) + `"`}, api.CodeKeyTooLong},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			key, given, err := idempotency.ParseKey(http.Header{"Idempotency-Key": tt.lines})
			var problem *core.Error
			if !errors.As(err, &problem) || problem.Code != tt.want {
				t.Fatalf("ParseKey(%q) = %q, %v, want %s", tt.lines, key, err, tt.want)
			}
			if !given || key != "" {
				t.Errorf("ParseKey(%q) = %q, %t, want an empty key, true", tt.lines, key, given)
			}
		})
	}
}

func TestParseKey(t *testing.T) {
	t.Parallel()
	t.Run("SaysThatThereIsNone", func(t *testing.T) {
		t.Parallel()
		key, given, err := idempotency.ParseKey(http.Header{"X-Idempotency-Key": {"a"}})
		if key != "" || given || err != nil {
			t.Errorf("ParseKey = %q, %t, %v, want none", key, given, err)
		}
	})
	t.Run("StatesTheLimit", func(t *testing.T) {
		t.Parallel()
		_, _, err := idempotency.ParseKey(http.Header{"Idempotency-Key": {strings.Repeat("k", 256)}})
		var problem *core.Error
		if !errors.As(err, &problem) {
			t.Fatalf("error = %v, want a *core.Error", err)
		}
		detail := "Idempotency key exceeds maximum length of 255 characters."
		want := []api.FieldError{{Parameter: "Idempotency-Key", Code: "invalid", Detail: detail}}
		if problem.Detail != detail {
			t.Errorf("detail = %q, want %q", problem.Detail, detail)
		}
		if diff := cmp.Diff(want, problem.Fields); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	})
}

// FuzzParseKey checks that what is accepted is a key, and that its quoted form is the same key.
func FuzzParseKey(f *testing.F) {
	for _, value := range []string{"a", `"a"`, `"a\"b"`, "", `"`, "\xff", "a\x00", strings.Repeat("k", 256), `"a";b`} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		key, given, err := idempotency.ParseKey(http.Header{"Idempotency-Key": {value}})
		if !given {
			t.Fatal("given = false, want true")
		}
		if err != nil {
			return
		}
		if key == "" || len(key) > idempotency.MaxKeyLength || strings.Trim(key, printable()) != "" {
			t.Fatalf("ParseKey(%q) = %q, which is not a key", value, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		again, _, err := idempotency.ParseKey(http.Header{"Idempotency-Key": {quoted}})
		if err != nil || again != key {
			t.Fatalf("ParseKey(%q) = %q, %v, want %q", quoted, again, err, key)
		}
	})
}

func printable() string {
	var characters []byte
	for c := byte(' '); c <= '~'; c++ {
		characters = append(characters, c)
	}
	return string(characters)
}
