package energyplus_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// modelCase is a model of testdata/models.txt, which says what its lines are, and all findings of it.
type modelCase struct {
	config, base, text, file string
	edits, want              []string
}

func TestModels(t *testing.T) {
	t.Parallel()
	compiled, models := map[string]engines.Engine{}, readModels(t)
	for name, c := range models {
		if compiled[c.config] == nil {
			compiled[c.config] = compile(t, engines.KindEnergyPlus, c.config)
		}
		engine := compiled[c.config]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			text, file := c.model(t, models)
			for _, f := range checkModel(t, engine, text, file).Findings {
				what := strings.TrimSpace(f.Code + " " + f.Path)
				place := fmt.Sprintf("> %s %d:%d %s", f.Severity, f.Line, f.Column, what)
				got = append(got, place+" | "+f.Message)
			}
			same(t, c.want, got)
		})
	}
}

// readModels returns the models by their names.
func readModels(tb testing.TB) map[string]*modelCase {
	tb.Helper()
	content, err := os.ReadFile("testdata/models.txt")
	if err != nil {
		tb.Fatal(err)
	}
	models, config, c := map[string]*modelCase{}, "{}", &modelCase{}
	for line := range strings.Lines(string(content)) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case word == "!" || line == "\n":
		case word == "config":
			config = rest
		case word == "#":
			if models[rest] != nil {
				tb.Fatalf("there are two models %s", rest)
			}
			c = &modelCase{config: config}
			models[rest] = c
		case word == "base":
			c.base = rest
		case word == "whole":
			c.file = rest
		case word == "edit":
			c.edits = append(c.edits, rest)
		case word == ">":
			c.want = append(c.want, strings.TrimSuffix(line, "\n"))
		default:
			c.text += line
		}
	}
	return models
}

// model returns the text of a model and the name of its file.
func (c *modelCase) model(tb testing.TB, models map[string]*modelCase) (string, string) {
	tb.Helper()
	base := ""
	if c.base != "" {
		base = models[c.base].text
	}
	text, file := base+strings.TrimSuffix(c.text, "\n"), c.file
	switch {
	case file != "":
	case strings.HasPrefix(text, `"`):
		text, file = completeJSON(text), "m.epJSON"
	default:
		text, file = complete(text), "m.idf"
	}
	for _, edit := range c.edits {
		old, with, _ := strings.Cut(edit, " =>")
		if !strings.Contains(text, old) {
			tb.Fatalf("the model has no %q", old)
		}
		text = strings.Replace(text, old, strings.TrimPrefix(with, " "), 1)
	}
	return text, file
}
