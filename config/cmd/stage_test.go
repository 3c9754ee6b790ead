package cmd_test

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }

type call = fixture.Call

// stage is the service with what the tests of this package do to it.
type stage struct {
	*fixture.Stage
}

func setup(tb testing.TB) *stage {
	tb.Helper()
	return &stage{fixture.Setup(tb)}
}
