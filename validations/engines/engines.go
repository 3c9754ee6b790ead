// Package engines registers the validators of the product and is what callers import.
//
// Each engine is a package below this one that builds on package engine. The aliases here name the types of engine, so
// that a caller needs no other package.
package engines

import (
	"encoding/json"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/http"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

type (
	// Engine checks documents by one configuration.
	Engine = engine.Engine
	// Document is what is checked.
	Document = engine.Document
	// Report is the outcome of one run, with its findings.
	Report = engine.Report
	// Finding is one problem or remark about a document.
	Finding = engine.Finding
	// Severity says how grave a finding is.
	Severity = engine.Severity
	// ConfigError is a fault in a configuration.
	ConfigError = engine.ConfigError
	// TextPlace is a place in a text within a configuration.
	TextPlace = engine.TextPlace
	// Limits bound what a document or a configuration may cost.
	Limits = engine.Limits
	// ExhaustedError says that a check used up a resource and has no verdict.
	ExhaustedError = engine.ExhaustedError
	// FailedError says why a check could not be carried out.
	FailedError = engine.FailedError
	// Requirement is one thing that a step demands of documents, for people to read.
	Requirement = engine.Requirement
	// YAMLText is a file that was read by ReadYAML.
	YAMLText = tree.YAMLText
	// HTTP is the engine of a validator that runs elsewhere: it says how to call the service and reads its answers.
	HTTP = http.Engine
)

// MaxAnswerBytes is the size of the answer of an external validator.
const MaxAnswerBytes = http.MaxAnswerBytes

// HTTPOrigin returns the origin of the validator that an http step with this configuration calls: scheme, host and
// port. It returns false where the configuration is wrong.
func HTTPOrigin(config json.RawMessage) (string, bool) {
	return http.OriginOf(config)
}

// ParseOrigin returns the origin of an address that an http step may call, or "" and what is wrong with the address.
func ParseOrigin(address string) (string, string) {
	return http.ParseOrigin(address)
}

// The severities of findings.
const (
	SeverityError   = engine.SeverityError
	SeverityWarning = engine.SeverityWarning
	SeverityInfo    = engine.SeverityInfo
)

// DefaultLimits returns the limits of the product.
func DefaultLimits() Limits {
	return engine.DefaultLimits()
}

// NewDocument returns a document whose content is in memory.
func NewDocument(content []byte, mediaType, filename string) Document {
	return engine.NewDocument(content, mediaType, filename)
}

// ReadYAML reads a file that people write for the product itself, such as a workflow. The finding, if any, says why it
// cannot be read.
func ReadYAML(content []byte, limits Limits) (tree.YAMLText, *Finding) {
	return tree.ReadYAML(content, limits)
}

// Pointer is the JSON pointer of these members.
func Pointer(tokens ...string) string {
	return engine.Pointer(tokens...)
}
