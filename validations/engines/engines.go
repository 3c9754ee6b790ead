// Package engines registers the validators of the product and is what callers import.
//
// Each engine is a package below this one that builds on package engine, but for HTTP, which checks nothing itself. The
// aliases here name the types of engine, so that a caller needs no other package.
package engines

import (
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
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
)

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
