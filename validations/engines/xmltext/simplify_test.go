package xmltext_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/xmltext"
)

// letters are the elements of generated content models.
const letters = "abcd"

// model is a content model, as XML Schema and as a regular expression over letters.
type model struct {
	schema, pattern string
}

// maxDepth is how deep random models nest.
const maxDepth = 2

// modelOf makes a random model that nests no deeper than depth.
func modelOf(random *rand.Rand, depth int) model {
	if depth == 0 || random.IntN(3) == 0 {
		letter := string(letters[random.IntN(len(letters))])
		least, most := occurrences(random)
		form := []string{`name="%s" type="xs:string"`, `ref="%s"`}[random.IntN(2)]
		return model{
			fmt.Sprintf("<xs:element "+form+"%s/>", letter, attributes(least, most)),
			"(?:" + letter + ")" + times(least, most),
		}
	}
	least, most := occurrences(random)
	name, operator := "sequence", ""
	if random.IntN(2) == 0 {
		name, operator = "choice", "|"
	}
	var schemas, patterns []string
	for range 1 + random.IntN(3) {
		part := modelOf(random, depth-1)
		schemas, patterns = append(schemas, part.schema), append(patterns, part.pattern)
	}
	return model{
		fmt.Sprintf("<xs:%s%s>%s</xs:%s>", name, attributes(least, most), strings.Join(schemas, ""), name),
		"(?:" + strings.Join(patterns, operator) + ")" + times(least, most),
	}
}

func occurrences(random *rand.Rand) (int, int) {
	least := []int{0, 0, 1, 1, 1, 2, 3}[random.IntN(7)]
	if least == 0 && random.IntN(2) == 0 {
		return 0, 1 + random.IntN(2)
	}
	return least, []int{max(1, least), least + 1, least + 2, -1, -1, max(1, least)}[random.IntN(6)]
}

func attributes(least, most int) string {
	if most < 0 {
		return fmt.Sprintf(` minOccurs="%d" maxOccurs="unbounded"`, least)
	}
	return fmt.Sprintf(` minOccurs="%d" maxOccurs="%d"`, least, most)
}

func times(least, most int) string {
	if most < 0 {
		return fmt.Sprintf("{%d,}", least)
	}
	return fmt.Sprintf("{%d,%d}", least, most)
}

// text is a schema whose root element holds the model.
func (m model) text() string {
	var b strings.Builder
	b.WriteString(`<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`)
	for _, letter := range letters {
		fmt.Fprintf(&b, `<xs:element name="%c" type="xs:string"/>`, letter)
	}
	b.WriteString(`<xs:element name="r"><xs:complexType><xs:sequence>` + m.schema +
		`</xs:sequence></xs:complexType></xs:element></xs:schema>`)
	return b.String()
}

// wordsOf makes random words, most of them of few letters.
func wordsOf(random *rand.Rand) []string {
	words := []string{""}
	for range 14 {
		var b strings.Builder
		for range random.IntN(8) {
			b.WriteByte(letters[random.IntN(1+random.IntN(len(letters)))])
		}
		words = append(words, b.String())
	}
	return words
}

// judge says which words xmllint accepts, or false if it refuses the schema or takes too long.
func judge(t *testing.T, folder string, schema []byte, words []string) ([]bool, bool) {
	t.Helper()
	path := filepath.Join(folder, "s.xsd")
	if err := os.WriteFile(path, schema, 0o600); err != nil {
		t.Fatalf("write schema: %v", err)
	}
	// libxml2 may need minutes to compile a small model.
	arguments := []string{"-c", `ulimit -t 20; exec xmllint "$@"`, "sh", "--noout", "--schema", path}
	for i, word := range words {
		var b strings.Builder
		for _, letter := range word {
			fmt.Fprintf(&b, "<%c/>", letter)
		}
		name := filepath.Join(folder, strconv.Itoa(i)+".xml")
		if err := os.WriteFile(name, []byte("<r>"+b.String()+"</r>"), 0o600); err != nil {
			t.Fatalf("write document: %v", err)
		}
		arguments = append(arguments, name)
	}
	command := exec.CommandContext(t.Context(), "sh", arguments...)
	output, err := command.CombinedOutput()
	if strings.Contains(string(output), "failed to compile") || command.ProcessState.ExitCode() < 0 {
		return nil, false
	}
	accepted := make([]bool, len(words))
	for i := range words {
		accepted[i] = strings.Contains(string(output), fmt.Sprintf("/%d.xml validates\n", i))
		if !accepted[i] && !strings.Contains(string(output), fmt.Sprintf("/%d.xml fails to validate\n", i)) {
			t.Fatalf("xmllint says nothing of document %d: %v\n%s", i, err, output)
		}
	}
	return accepted, true
}

// TestSimplifiedModelsAcceptTheSame judges random content models by regular expressions, which decide what a model
// means. xmllint must find the same by a simplified schema where it does by the schema as it was written.
func TestSimplifiedModelsAcceptTheSame(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	compared, unsimplified := 0, 0
	for seed := range uint64(models) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := modelOf(random, 1+int(seed%maxDepth))
		words := wordsOf(random)
		plain, compiled := judge(t, folder, []byte(m.text()), words)
		if !compiled {
			// libxml2 finds the model ambiguous.
			continue
		}
		text, simple := simplest(t, folder, m, words)
		if simple == nil {
			unsimplified++
			continue
		}
		compared++
		meaning := regexp.MustCompile("^" + m.pattern + "$")
		for i, word := range words {
			// libxml2 miscounts some models that are ambiguous, in either form.
			if want := meaning.MatchString(word); simple[i] != want && plain[i] == want {
				t.Errorf("seed %d: %q by %s: simplified says %v, want %v as without that\n%s",
					seed, word, m.pattern, simple[i], want, text)
			}
		}
	}
	if compared < models/2 {
		t.Errorf("compared %d of %d models", compared, models)
	}
	// libxml2 finds some models ambiguous only without their counters. Those are checked as they were written.
	if unsimplified > models/100 {
		t.Errorf("xmllint takes %d of %d models only as they were written", unsimplified, models)
	}
}

// simplest returns the first form of a model that xmllint takes, and which words it accepts, or nothing if it takes
// none.
func simplest(t *testing.T, folder string, m model, words []string) ([]byte, []bool) {
	t.Helper()
	for _, text := range xmltext.Simplify([]byte(m.text()), engine.DefaultLimits()) {
		if accepted, compiled := judge(t, folder, text, words); compiled {
			return text, accepted
		}
	}
	return nil, nil
}

func TestSimplify(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, model, want string
	}{
		{
			"RepeatedChoice", `<xs:choice maxOccurs="unbounded"><xs:element ref="a" minOccurs="0"/><xs:element ref="b"
				maxOccurs="unbounded"/></xs:choice>`,
			`<xs:sequence minOccurs="0" maxOccurs="unbounded"><xs:choice><xs:element ref="a"></xs:element>` +
				`<xs:element ref="b"></xs:element></xs:choice></xs:sequence>`,
		},
		{
			"ChoiceInAChoice", `<xs:choice minOccurs="0" maxOccurs="unbounded"><xs:choice maxOccurs="7"><xs:any/>
				</xs:choice><xs:element ref="b"/></xs:choice>`,
			`<xs:sequence minOccurs="0" maxOccurs="unbounded"><xs:choice><xs:any></xs:any>` +
				`<xs:element ref="b"></xs:element></xs:choice></xs:sequence>`,
		},
		{
			"SeveralInARow", `<xs:choice minOccurs="0" maxOccurs="unbounded"><xs:element ref="a"/><xs:element ref="b"
				minOccurs="2" maxOccurs="3"/></xs:choice>`,
			`<xs:sequence><xs:sequence minOccurs="0"><xs:sequence><xs:element ref="b"></xs:element><xs:sequence ` +
				`maxOccurs="unbounded"><xs:element ref="b"></xs:element></xs:sequence></xs:sequence></xs:sequence>` +
				`<xs:sequence minOccurs="0" maxOccurs="unbounded"><xs:choice><xs:element ref="a"></xs:element>` +
				`</xs:choice><xs:sequence minOccurs="0"><xs:sequence><xs:element ref="b"></xs:element><xs:sequence ` +
				`maxOccurs="unbounded"><xs:element ref="b"></xs:element></xs:sequence></xs:sequence></xs:sequence>` +
				`</xs:sequence></xs:sequence>`,
		},
		{
			"ACountThatLeavesGapsStays", `<xs:choice minOccurs="0" maxOccurs="unbounded"><xs:element ref="a"/>` +
				`<xs:element ref="b" minOccurs="3" maxOccurs="4"/></xs:choice>`,
			`<xs:sequence minOccurs="0" maxOccurs="unbounded"><xs:choice><xs:element ref="a"></xs:element>` +
				`<xs:element ref="b" minOccurs="3" maxOccurs="4"></xs:element></xs:choice></xs:sequence>`,
		},
		{
			"SmallCount", `<xs:sequence><xs:element name="a" type="t" id="i" maxOccurs="2"/></xs:sequence>`,
			`<xs:sequence><xs:sequence><xs:element name="a" type="t"></xs:element><xs:sequence minOccurs="0">` +
				`<xs:element name="a" type="t"></xs:element></xs:sequence></xs:sequence></xs:sequence>`,
		},
		{
			"ATypeInsideIsNotRepeated",
			`<xs:sequence><xs:element name="a" maxOccurs="2"><xs:simpleType/></xs:element></xs:sequence>`,
			`<xs:sequence><xs:element name="a" maxOccurs="2"><xs:simpleType/></xs:element></xs:sequence>`,
		},
		{
			"APrefixDeclaredInsideStays",
			`<xs:choice maxOccurs="unbounded"><xs:element xmlns:p="u" ref="p:a"/></xs:choice>`,
			`<xs:choice maxOccurs="unbounded"><xs:element xmlns:p="u" ref="p:a"/></xs:choice>`,
		},
	}
	const before, after = `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:complexType name="t">`,
		`<xs:attribute name="x"/></xs:complexType></xs:schema>`
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := string(xmltext.Simplify([]byte(before+tt.model+after), engine.DefaultLimits())[0])
			if want := before + tt.want + after; got != want {
				t.Errorf("simplified =\n%s\nwant\n%s", got, want)
			}
		})
	}
}
