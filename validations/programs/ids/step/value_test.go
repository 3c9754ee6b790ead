package step

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTexts(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`'plain'`: "plain", `''`: "", `'it''s'`: "it's", `'a\\b'`: `a\b`, `'\X\E4'`: "ä", `'\X2\00E400F6\X0\x'`: "äöx",
		`'\X4\0001F3E0\X0\'`: "🏠", `'\X2\D83CDFE0\X0\'`: "🏠", `'\S\d'`: "ä", `'\PB\\S\3'`: "ł", `'\PZ\'`: `\PZ\`,
		// The quote of \S\' is a character of the text.
		`'\S\C\S\'a'`: "Ã§a", `'\S\'''s'`: "§'s", `'a\\S\''s'`: `a\S\'s`,
		`'\PA\\S\''`: "§", `'\X2\00E4\X0\\S\''`: "ä§", `'\X\E4\S\''`: "ä§",
		// What is no escape stands for itself.
		`'\X2\00E4'`: `\X2\00E4`, `'\X2\00E\X0\'`: `\X2\00E\X0\`, `'\X2\ZZZZ\X0\'`: `\X2\ZZZZ\X0\`, `'\X'`: `\X`,
		`'\'`: `\`, `'\S\'`: `\S\`, `'\X\G0'`: `\X\G0`, `'\X4\FFFFFFFF\X0\'`: `\X4\FFFFFFFF\X0\`,
		`'\X2\\X0\'`: `\X2\X0\`, "'M\xfcller'": "Müller", "'Müller'": "Müller",
	} {
		if got := Value(raw).Text(); got != want {
			t.Errorf("text of %s = %q, want %q", raw, got, want)
		}
	}
}

func TestValues(t *testing.T) {
	t.Parallel()
	list := Value(`('a,\S\',(b',(1,(2)),IFCLABEL('x)'),.T.,#12,$,*,-1.5E2,"0A",())`)
	var got []string
	var kinds []Kind
	for v := range list.Elements() {
		got = append(got, string(v))
		kinds = append(kinds, v.Kind())
	}
	want := []string{`'a,\S\',(b'`, "(1,(2))", "IFCLABEL('x)')", ".T.", "#12", "$", "*", "-1.5E2", `"0A"`, "()"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("elements (-want +got):\n%s", diff)
	}
	wantKinds := []Kind{Text, List, Typed, Enumeration, Reference, Null, Derived, Number, Binary, List}
	if diff := cmp.Diff(wantKinds, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if name, inside := list.Element(2).Typed(); name != "IFCLABEL" || inside.Text() != "x)" {
		t.Errorf("typed = %s %s", name, inside)
	}
	if id, ok := list.Element(4).Reference(); !ok || id != 12 {
		t.Errorf("reference = %d, %t", id, ok)
	}
	if number, ok := list.Element(7).Number(); !ok || number != -150 {
		t.Errorf("number = %g, %t", number, ok)
	}
	if list.Element(10) != nil || Value("()").Element(0) != nil || Value("1").Element(0) != nil {
		t.Error("an element is found that is not there")
	}
	if !list.Element(5).Empty() || !list.Element(6).Empty() || !list.Element(99).Empty() || list.Element(9).Empty() {
		t.Error("a value is empty that is none, or none that is")
	}
	if _, ok := list.Element(0).Number(); ok {
		t.Error("a text is a number")
	}
	if _, ok := list.Element(0).Reference(); ok {
		t.Error("a text is a reference")
	}
}
