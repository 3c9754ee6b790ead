package xsd_test

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
	"github.com/simplevalidations/simplevalidations/validations/engines/xsd"
)

// letters are the elements of generated content models.
const letters = "abcd"

// model is a content model, as XML Schema and as a regular expression over letters.
type model struct {
	schema, pattern string
}

// modelOf makes a random model that nests no deeper than depth.
func modelOf(random *rand.Rand, depth int) model {
	if depth == 0 || random.IntN(3) == 0 {
		letter := string(letters[random.IntN(len(letters))])
		least, most := occurrences(random)
		form := []string{`name="%s" type="xs:string"`, `ref="%s"`}[random.IntN(2)]
		return model{
			fmt.Sprintf("<xs:element "+form+"%s/>", letter, attributes(least, most)), "(?:" + letter + ")" + times(least, most),
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

// schema is a schema whose root element holds the model.
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

// words are random words, and words of the model.
func (m model) words(random *rand.Rand) []string {
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

// judge says which words xmllint accepts, or false if it refuses the schema.
func judge(t *testing.T, folder string, schema []byte, words []string) ([]bool, bool) {
	t.Helper()
	path := filepath.Join(folder, "s.xsd")
	if err := os.WriteFile(path, schema, 0o600); err != nil {
		t.Fatalf("write schema: %v", err)
	}
	arguments := []string{"--noout", "--schema", path}
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
	output, err := exec.CommandContext(t.Context(), "xmllint", arguments...).CombinedOutput()
	if strings.Contains(string(output), "failed to compile") {
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

func TestSimplifiedModelsAcceptTheSame(t *testing.T) {
	t.Parallel()
	models, _ := strconv.Atoi(os.Getenv("MODELS"))
	folder := t.TempDir()
	stats := map[string]int{}
	for seed := range uint64(max(models, 60)) {
		random := rand.New(rand.NewPCG(seed, 1))
		m := modelOf(random, 1+int(seed%2))
		words := m.words(random)
		want := regexp.MustCompile("^" + m.pattern + "$")
		plain, compiled := judge(t, folder, []byte(m.text()), words)
		if !compiled {
			stats["refused"]++
			continue
		}
		var text []byte
		var simple []bool
		level := 0
		for compiled = false; !compiled && level < 2; level++ {
			text = xsd.Simplify([]byte(m.text()), engine.DefaultLimits())[level]
			simple, compiled = judge(t, folder, text, words)
		}
		if !compiled {
			t.Errorf("seed %d: only the simplified schema is refused: %s\n%s", seed, m.pattern, text)
			continue
		}
		stats[fmt.Sprint("level ", level)]++
		stats["compared"]++
		for i, word := range words {
			matched := want.MatchString(word)
			if simple[i] != matched {
				stats["simple wrong"]++
				t.Errorf("seed %d: %q by %s: simplified %v, plain %v, want %v\n%s", seed, word, m.pattern, simple[i], plain[i], matched, text)
			}
			if plain[i] != matched {
				stats["plain wrong"]++
			}
			if matched {
				stats["accepted"]++
			}
		}
	}
	t.Log(stats)
}
