package table_test

import (
	"strconv"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

func TestTimePatternsMean(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ kind, format, text, value string }{
		{"time", "%I:%M %p", "12:30 AM", "'00:30:00'"},
		{"time", "%I:%M %p", "12:30 pm", "'12:30:00'"},
		{"time", "%I:%M %p", "1:30 PM", "'13:30:00'"},
		{"date", "%d.%m.%y", "1.2.68", "timestamp('2068-02-01')"},
		{"date", "%d.%m.%y", "1.2.69", "timestamp('1969-02-01')"},
		{"date", "%Y-%j", "2024-366", "timestamp('2024-12-31')"},
		{"date", "%B %d, %Y", "may 31, 2026", "timestamp('2026-05-31')"},
		{"datetime", "%Y%m%d%H%M%S", "20260301060005", "timestamp('2026-03-01T06:00:05Z')"},
		{"datetime", "%Y-%m-%d %H:%M:%S.%f", "2026-3-1 6:0:5.25", "timestamp('2026-03-01T06:00:05.25Z')"},
		{"datetime", "%FT%T%z", "2026-03-01T06:00:05+0130", "timestamp('2026-03-01T04:30:05Z')"},
		{"datetime", "%FT%T%z", "2026-03-01T06:00:05-01:30", "timestamp('2026-03-01T07:30:05Z')"},
		{"datetime", "any", "1 Mar 2026 12:15:00 AM", "timestamp('2026-03-01T00:15:00Z')"},
	} {
		engine := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "at", "type": "`+tt.kind+
			`", "format": "`+tt.format+`"}]}, "row_rules": [{"id": "means", "assert": "row.at == `+tt.value+`"}]}`)
		text := "at\n" + strconv.Quote(tt.text) + "\n"
		if found := briefs(run(t, engine, []byte(text), "text/csv")); len(found) > 0 {
			t.Errorf("%s by %s: %v", tt.text, tt.format, found)
		}
	}
}
