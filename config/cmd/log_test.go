package cmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/simplevalidations/simplevalidations/config"
)

func TestLogNamesTheUnitOfDurations(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{"json": `"pause_ms":195}`, "text": "pause_ms=195\n"} {
		var text bytes.Buffer
		newLog(config.Settings{LogFormat: format, LogLevel: "info"}, &text).InfoContext(t.Context(), "tried again",
			"pause", 195688187*time.Nanosecond)
		if !strings.Contains(text.String(), want) {
			t.Errorf("line = %s, want %s", text.String(), want)
		}
	}
}
