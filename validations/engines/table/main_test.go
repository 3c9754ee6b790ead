package table_test

import (
	"os"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines/table/tablefile"
)

// TestMain lets the program of the tests be the reader of Parquet files that the engine starts.
func TestMain(m *testing.M) {
	tablefile.RunChild(os.Args)
	os.Exit(m.Run())
}
