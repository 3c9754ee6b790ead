//go:build slow

package main_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// judge checks documents by the reference implementation of ISO Schematron, in XSLT, and counts each message. It loses
// spaces between values and texts, so that all spaces are removed.
const judge = `
import json, re, sys
from lxml import etree, isoschematron
parser = etree.XMLParser(huge_tree=True)
schema, phase, documents = json.load(sys.stdin)
options = {"phase": phase} if phase else {}
checker = isoschematron.Schematron(etree.fromstring(schema.encode(), parser), store_report=True, **options)
answers = []
for document in documents:
    root = etree.fromstring(document.encode(), parser).getroottree()
    checker.validate(root)
    counts = {}
    for found in checker.validation_report.iter("{*}failed-assert", "{*}successful-report"):
        text = "".join("".join(found.itertext()).split())[:300]
        counts[text] = counts.get(text, 0) + 1
    answers.append(counts)
print(json.dumps(answers))
`

// TestAgainstLXML compares what fails with the findings of lxml. Debian has it in python3-lxml. SCHEMATRON_TRIAL may
// name a folder of more cases, each a folder with schema.sch and documents that end in .xml.
func TestAgainstLXML(t *testing.T) {
	t.Parallel()
	type trial struct {
		schema, phase string
		documents     []string
	}
	trials := map[string]trial{
		"Sample": {
			text(t, "schemas/meters.sch"), "", []string{text(t, "good/meters.xml"), text(t, "bad/meters.xml")},
		},
		"Features": {features, "#ALL", []string{featured}},
		"Phase":    {features, "some", []string{featured}},
	}
	more, err := filepath.Glob(filepath.Join(os.ExpandEnv("$SCHEMATRON_TRIAL"), "*", "schema.sch"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range more {
		one := trial{schema: read(t, file)}
		documents, err := filepath.Glob(filepath.Join(filepath.Dir(file), "*.xml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents {
			one.documents = append(one.documents, read(t, document))
		}
		trials[filepath.Base(filepath.Dir(file))] = one
	}
	for name, tt := range trials {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wants := ask(t, []any{tt.schema, tt.phase, tt.documents})
			checker := compile(t, step(t, tt.schema, tt.phase))
			failures := 0
			for i, document := range tt.documents {
				got := map[string]int{}
				for _, f := range run(t, checker, document).Findings {
					if f.Truncated {
						continue
					}
					message := strings.Join(strings.Fields(f.Message), "")
					got[message[:min(len(message), 300)]]++
					failures++
				}
				if diff := cmp.Diff(wants[i], got); diff != "" {
					t.Errorf("document %d (-lxml +got):\n%s", i, diff)
				}
			}
			t.Logf("%d documents, %d findings", len(tt.documents), failures)
		})
	}
}

func ask(tb testing.TB, question any) []map[string]int {
	tb.Helper()
	input, err := json.Marshal(question)
	if err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), "/usr/bin/python3", "-c", judge)
	command.Stdin = strings.NewReader(string(input))
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.Output()
	if err != nil {
		tb.Fatalf("lxml: %v\n%s", err, complaint.String())
	}
	var answers []map[string]int
	if err := json.Unmarshal(output, &answers); err != nil {
		tb.Fatal(err)
	}
	return answers
}

func read(tb testing.TB, file string) string {
	tb.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return string(content)
}
