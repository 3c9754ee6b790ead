package energyplus_test

import "github.com/simplevalidations/simplevalidations/validations/engines/enginetest"

// brief is what most tests want to know of a finding.
type brief struct {
	Code    string
	Path    string
	Line    int
	Column  int
	Row     int
	Message string
}

// The helpers of all engines, by short names.
var (
	same    = enginetest.Same
	briefs  = enginetest.Briefs[brief]
	sample  = enginetest.Sample
	compile = enginetest.Compile
	refused = enginetest.Refused
)
