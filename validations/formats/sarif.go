package formats

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const (
	sarifVersion = "2.1.0"
	sarifSchema  = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// maxSARIFResults is how many results GitHub's code scanning accepts in a run.
	maxSARIFResults = 5000
	// fingerprintName includes a version, so that a changed algorithm is not compared with older fingerprints.
	fingerprintName = "simplevalidations/v1"
)

type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	ColumnKind  string            `json:"columnKind"` //nolint:tagliatelle // SARIF's own name
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID string `json:"id"`
}

//nolint:tagliatelle // SARIF's own names
type sarifInvocation struct {
	ExecutionSuccessful        bool                `json:"executionSuccessful"`
	ToolExecutionNotifications []sarifNotification `json:"toolExecutionNotifications"`
}

type sarifNotification struct {
	Level   string    `json:"level"`
	Message sarifText `json:"message"`
}

type sarifText struct {
	Text string `json:"text"`
}

//nolint:tagliatelle // SARIF's own names
type sarifResult struct {
	RuleID              string            `json:"ruleId"`
	RuleIndex           int               `json:"ruleIndex"`
	Level               string            `json:"level"`
	Message             sarifText         `json:"message"`
	Locations           []sarifLocation   `json:"locations"`
	PartialFingerprints map[string]string `json:"partialFingerprints"`
	OccurrenceCount     int               `json:"occurrenceCount,omitempty"`
}

//nolint:tagliatelle // SARIF's own names
type sarifLocation struct {
	PhysicalLocation sarifPhysical  `json:"physicalLocation"`
	LogicalLocations []sarifLogical `json:"logicalLocations,omitempty"`
}

//nolint:tagliatelle // SARIF's own names
type sarifPhysical struct {
	ArtifactLocation sarifArtifact `json:"artifactLocation"`
	Region           sarifRegion   `json:"region"`
}

//nolint:tagliatelle // SARIF's own names
type sarifArtifact struct {
	URI       string `json:"uri"`
	URIBaseID string `json:"uriBaseId,omitempty"`
}

//nolint:tagliatelle // SARIF's own names
type sarifRegion struct {
	StartLine   int        `json:"startLine"`
	StartColumn int        `json:"startColumn,omitempty"`
	Snippet     *sarifText `json:"snippet,omitempty"`
}

//nolint:tagliatelle // SARIF's own name
type sarifLogical struct {
	FullyQualifiedName string `json:"fullyQualifiedName"`
}

// sarifWriter numbers the rules, and equal findings of one file.
type sarifWriter struct {
	run   sarifRun
	rules map[string]int
	seen  map[string]int
}

// SARIF writes the verdict as a SARIF 2.1.0 log with at most 5,000 results. A notification counts the omitted ones.
func SARIF(v Verdict) ([]byte, error) {
	w := &sarifWriter{
		run: sarifRun{
			Tool:       sarifTool{sarifDriver{Name: "SimpleValidations", Version: v.Program, Rules: []sarifRule{}}},
			ColumnKind: "unicodeCodePoints", Results: []sarifResult{},
		},
		rules: map[string]int{}, seen: map[string]int{},
	}
	listed := 0
	for f := range v.items() {
		listed++
		if listed <= maxSARIFResults {
			w.add(f)
		}
	}
	done := invocation(v)
	if listed > maxSARIFResults {
		done.note("warning", fmt.Sprintf("%d results are left out: a log holds %d",
			listed-maxSARIFResults, maxSARIFResults))
	}
	w.run.Invocations = []sarifInvocation{done}
	return encodeJSON(sarifLog{Schema: sarifSchema, Version: sarifVersion, Runs: []sarifRun{w.run}})
}

// invocation reports the documents that were not checked to the end.
func invocation(v Verdict) sarifInvocation {
	done := sarifInvocation{ExecutionSuccessful: true, ToolExecutionNotifications: []sarifNotification{}}
	for _, document := range v.Documents {
		if document.Result != api.RunResultPass && document.Result != api.RunResultFail {
			done.ExecutionSuccessful = false
			done.note("error", document.Name+": "+document.Error)
		}
		for _, step := range document.Steps {
			if step.Note != "" {
				done.note("note", document.Name+": step "+step.Name+" was skipped: "+step.Note)
			}
			if step.Truncated {
				text := document.Name + ": step " + step.Name + " found more than it lists: " + countWords(step.Counts)
				done.note("warning", text)
			}
		}
	}
	return done
}

func (i *sarifInvocation) note(level, text string) {
	i.ToolExecutionNotifications = append(i.ToolExecutionNotifications,
		sarifNotification{level, sarifText{Clean(text)}})
}

func (w *sarifWriter) add(f item) {
	rule, known := w.rules[f.Code]
	if !known {
		rule = len(w.rules)
		w.rules[f.Code] = rule
		w.run.Tool.Driver.Rules = append(w.run.Tool.Driver.Rules, sarifRule{f.Code})
	}
	result := sarifResult{
		RuleID: f.Code, RuleIndex: rule, Level: sarifLevels[f.Severity], Message: sarifText{Clean(sentence(f.Finding))},
		Locations:           []sarifLocation{location(f)},
		PartialFingerprints: map[string]string{fingerprintName: w.fingerprint(f)},
	}
	if f.Count > 1 {
		result.OccurrenceCount = f.Count
	}
	w.run.Results = append(w.run.Results, result)
}

// fingerprint does not change when other lines of the document are added or removed. Equal findings are numbered.
func (w *sarifWriter) fingerprint(f item) string {
	text := strings.Join([]string{f.Code, f.document.Name, f.Path, strings.TrimSpace(f.Excerpt)}, "\x00")
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:8])
	w.seen[digest]++
	return fmt.Sprintf("%s:%d", digest, w.seen[digest])
}

// location points at line 1 if the line is unknown, because readers of logs require a line.
func location(f item) sarifLocation {
	region := sarifRegion{StartLine: max(1, f.Line), StartColumn: f.Column}
	if f.Line > 0 && f.Excerpt != "" {
		region.Snippet = &sarifText{Clean(f.Excerpt)}
	}
	at := sarifLocation{PhysicalLocation: sarifPhysical{ArtifactLocation: artifact(f.document.Name), Region: region}}
	if f.Path != "" {
		at.LogicalLocations = []sarifLogical{{Clean(f.Path)}}
	}
	return at
}

// artifact names a document relative to the repository. An absolute path is not changed.
func artifact(name string) sarifArtifact {
	address := url.URL{Path: name}
	if strings.HasPrefix(name, "/") {
		address.Scheme = "file"
		return sarifArtifact{URI: address.String()}
	}
	return sarifArtifact{URI: address.String(), URIBaseID: "%SRCROOT%"}
}

// sarifLevels are the levels of SARIF by the severities.
var sarifLevels = map[engines.Severity]string{
	engines.SeverityError: "error", engines.SeverityWarning: "warning", engines.SeverityInfo: "note",
}
