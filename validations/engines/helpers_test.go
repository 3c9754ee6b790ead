package engines_test

import "github.com/simplevalidations/simplevalidations/validations/engines/enginetest"

// The helpers of all engines, by short names.
var (
	same       = enginetest.Same
	compile    = enginetest.Compile
	refused    = enginetest.Refused
	schemaStep = enginetest.SchemaStep
	xmlStep    = enginetest.XMLStep
)
