package files

import (
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestMain(m *testing.M) {
	coretest.Main(m)
}
