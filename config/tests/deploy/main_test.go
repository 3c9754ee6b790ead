package deploy

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

func TestMain(m *testing.M) { program.MainPlain(m) }
