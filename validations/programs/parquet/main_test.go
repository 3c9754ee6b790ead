package main_test

import (
	"os"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port/process"
)

func TestMain(m *testing.M) {
	os.Exit(process.Main(m))
}
