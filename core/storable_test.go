package core_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core"
)

func TestStorable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "",
		"plain ä €":         "plain ä €",
		"a\x00b\x00":        "a\uFFFDb\uFFFD",
		"a\xff\xfeb":        "a\uFFFDb",
		"cut in a rune\xc3": "cut in a rune\uFFFD",
		"a\xed\xa0\x80":     "a\uFFFD",
	} {
		if got := core.Storable(text); got != want {
			t.Errorf("Storable(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestStorableUpTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":            "",
		"äöü":         "äöü",
		"äöüß":        "äöü",
		"a\xffb\x00c": "a\uFFFDb",
		"\x00\x00":    "\uFFFD\uFFFD",
	} {
		if got := core.StorableUpTo(text, 3); got != want {
			t.Errorf("StorableUpTo(%q, 3) = %q, want %q", text, got, want)
		}
	}
}
