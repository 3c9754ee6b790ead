package expression_test

import (
	"testing"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// BenchmarkNewEnv is what each step with rules pays when it is compiled.
func BenchmarkNewEnv(b *testing.B) {
	for b.Loop() {
		_ = expression.NewEnv(engine.DefaultLimits(), cel.Variable("value", cel.DynType))
	}
}
