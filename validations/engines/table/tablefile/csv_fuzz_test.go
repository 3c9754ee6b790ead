package tablefile

import (
	"encoding/csv"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// FuzzCSV compares with the standard library's reader wherever that one reads the whole text.
func FuzzCSV(f *testing.F) {
	seeds := []string{
		"a,b\n1,2\n", "\"a\"\"b\",\n\n\"x\ny\",2", "a\r\nb\rc\n", "\"open", "a\"b,c", "\"a\"b\n", ",,,\n", "\ufeffa",
		"é,\xff\n", "\"\"",
	}
	for _, seed := range seeds {
		f.Add(seed)
	}
	limits := engine.DefaultLimits()
	limits.MaxRecordBytes, limits.MaxColumns = 1000, 20
	f.Fuzz(func(t *testing.T, text string) {
		got, clean := readRecords(t, text, limits)
		// The two differ in bare carriage returns, which end lines here, and in the byte order mark.
		if !clean || strings.Contains(text, "\r") || strings.HasPrefix(text, engine.BOM) {
			return
		}
		reference := csv.NewReader(strings.NewReader(text))
		reference.FieldsPerRecord, reference.LazyQuotes = -1, false
		want, err := reference.ReadAll()
		if err != nil {
			return
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records of %q (-want +got):\n%s", text, diff)
		}
	})
}

// readRecords reads all records, checks the places of their fields, and says whether none was faulty.
func readRecords(t *testing.T, text string, limits engine.Limits) ([][]string, bool) {
	t.Helper()
	reader := newCSV(strings.NewReader(text), csvDialect{delimiter: ',', quote: '"'}, limits)
	var records [][]string
	clean := true
	for {
		err := reader.Next()
		if errors.Is(err, io.EOF) {
			return records, clean
		}
		if fault, ok := errors.AsType[*Error](err); ok {
			clean = false
			reader.Place(engine.Finding{}, min(fault.Offset, len(reader.raw)))
			if fault.Final {
				return records, false
			}
			continue
		}
		if err != nil {
			t.Fatalf("error = %v, want none of the reader's own", err)
		}
		if reader.Blank() {
			continue
		}
		var record []string
		for _, field := range reader.cells {
			record = append(record, string(field.Text))
			placed := reader.Place(engine.Finding{}, field.Start)
			if placed.Line < reader.line || placed.Column < 1 || !utf8.ValidString(placed.Excerpt) {
				t.Errorf("field %q of %q is at %d:%d", field.Text, text, placed.Line, placed.Column)
			}
		}
		records = append(records, record)
	}
}
