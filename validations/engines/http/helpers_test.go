package http_test

import "github.com/simplevalidations/simplevalidations/validations/engines/enginetest"

// The helpers of all engines, by short names.
var (
	compile = enginetest.Compile
	refused = enginetest.Refused
)
