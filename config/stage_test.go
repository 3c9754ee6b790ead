package config_test

import (
	"os"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
)

func TestMain(m *testing.M) {
	// The tests of traces read spans without protocol buffers.
	if err := os.Setenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"); err != nil {
		panic(err)
	}
	fixture.Main(m)
}

type (
	call  = fixture.Call
	stage = fixture.Stage
)
