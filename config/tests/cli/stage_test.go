package cli

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestMain(m *testing.M) { fixture.Main(m) }

type (
	call   = fixture.Call
	answer = fixture.Answer
	stage  = fixture.Stage
)
