package xml_test

import "github.com/simplevalidations/simplevalidations/validations/engines/enginetest"

// manyValues bounds the documents of tests that go beyond the number of values.
const manyValues = enginetest.ManyValues

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
	same          = enginetest.Same
	run           = enginetest.Run
	briefs        = enginetest.Briefs[brief]
	sample        = enginetest.Sample
	compile       = enginetest.Compile
	compileWithin = enginetest.CompileWithin
	refused       = enginetest.Refused
	xmlStep       = enginetest.XMLStep
)
