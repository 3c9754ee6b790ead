package table_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

const readingFields = `[{"name": "id"}, {"name": "kwh", "type": "number"}, 
	{"name": "count", "type": "integer", "constraints": {"minimum": 9007199254740993}},
	{"name": "small", "type": "integer"}, {"name": "price", "type": "number"}, {"name": "day", "type": "date"},
	{"name": "at", "type": "datetime"}, {"name": "ok", "type": "boolean"}, {"name": "tags", "type": "array"},
	{"name": "site", "type": "object"}, {"name": "meter", "format": "uuid"}]`

// parquetOf reads a file that the tests of the program parquet write.
func parquetOf(tb testing.TB, name string) []byte {
	tb.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name+".parquet"))
	if err != nil {
		tb.Fatal(err)
	}
	return content
}

func parquetDocument(content []byte) engines.Document {
	return engines.NewDocument(content, mediatype.Parquet, "readings.parquet")
}

func TestParquet(t *testing.T) {
	t.Parallel()
	t.Run("EveryTypeIsRead", func(t *testing.T) {
		t.Parallel()
		got := run(t, step(t, readingFields), parquetOf(t, "readings"), mediatype.Parquet)
		same(t, briefs(got), []brief{})
	})

	t.Run("ValuesAreThoseOfTheFile", func(t *testing.T) {
		t.Parallel()
		wrong := strings.NewReplacer(`, "constraints": {"minimum": 9007199254740993}`, "",
			`"type": "number"`, `"type": "date"`, `"type": "integer"`, `"type": "date"`,
			`"type": "date"`, `"type": "integer"`, `"type": "datetime"`, `"type": "integer"`,
			`"type": "array"`, `"type": "integer"`, `"type": "object"`, `"type": "integer"`,
			`"type": "boolean"`, `"type": "integer"`, `"format": "uuid"`, `"type": "integer"`).Replace(readingFields)
		var said []string
		for _, finding := range run(t, step(t, wrong), parquetOf(t, "reading"), mediatype.Parquet).Findings {
			said = append(said, finding.Message)
		}
		for _, want := range []string{
			`kwh "1.5"`, `count "9007199254740993"`, `small "4294967295"`, `price "-1.05"`, `day "2026-03-01"`,
			`at "2026-03-01T12:30:00.25Z"`, `ok "true"`, `tags "["x","y"]"`, `site "{"city":"Łódź"}"`,
			`meter "01020300-0000-0000-0000-000000000000"`,
		} {
			if !slices.ContainsFunc(said, func(m string) bool { return strings.HasPrefix(m, want) }) {
				t.Errorf("no finding says %s: %q", want, said)
			}
		}
	})

	t.Run("FindingsNameTheRow", func(t *testing.T) {
		t.Parallel()
		checks := step(t, `[{"name": "id", "constraints": {"unique": true}},
			{"name": "kwh", "type": "number", "constraints": {"required": true}}]`)
		got := run(t, checks, parquetOf(t, "meters"), mediatype.Parquet)
		same(t, briefs(got), []brief{
			{"csv.required", "kwh", 0, 0, 2, "kwh is missing"},
			{"csv.unique", "id", 0, 0, 3, `id "a" is a duplicate of row 1`},
		})
		if excerpt := got.Findings[0].Excerpt; excerpt != "b\t" {
			t.Errorf("excerpt = %q, want the row", excerpt)
		}
	})

	t.Run("ColumnsAreCheckedOnce", func(t *testing.T) {
		t.Parallel()
		got := run(t, step(t, `[{"name": "id", "constraints": {"required": true}}]`),
			parquetOf(t, "other"), mediatype.Parquet)
		same(t, briefs(got), []brief{
			{"csv.header.unknown", "id2", 0, 0, 0, "id2 is not allowed"},
			{"csv.header.missing", "id", 0, 0, 0, "the header lacks the column id"},
		})
	})
}

func TestParquetFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	whole := parquetOf(t, "reading")
	cut := slices.Clone(whole[:len(whole)-20])
	for name, content := range map[string][]byte{
		"Empty": {}, "Text": []byte("id,kwh\na,1\n"), "Cut": cut,
		"Encrypted": append(append([]byte("PARE"), whole[4:len(whole)-4]...), "PARE"...),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, step(t, readingFields), content, mediatype.Parquet)
			if len(got.Findings) != 1 || got.Findings[0].Code != "csv.malformed" {
				t.Errorf("findings = %+v, want that the file cannot be read", got.Findings)
			}
		})
	}
}

// withFooter is a file with another footer, whose first bytes are the version and the head of the list of columns
// (Thrift compact protocol).
func withFooter(tb testing.TB, file []byte, change func(footer []byte) []byte) []byte {
	tb.Helper()
	const tail, magic = 8, "PAR1"
	end := len(file) - tail
	begin := end - int(binary.LittleEndian.Uint32(file[end:]))
	footer := change(slices.Clone(file[begin:end]))
	changed := append(slices.Clone(file[:begin]), footer...)
	changed = binary.LittleEndian.AppendUint32(changed, uint32(len(footer)))
	return append(changed, magic...)
}

// exhausted checks a file that takes more memory than its reader may have.
func exhausted(t *testing.T, content []byte) {
	t.Helper()
	_, err := step(t, readingFields).Run(t.Context(), parquetDocument(content))
	used, ok := errors.AsType[*engine.ExhaustedError](err)
	if !ok || used.Reason != "needed more than 256 MiB of memory" {
		t.Errorf("error = %v, want that the memory was used up", err)
	}
}

// Six bytes make the reader allocate hundreds of gigabytes.
func TestParquetThatTakesTooMuchMemory(t *testing.T) {
	t.Parallel()
	hostile := withFooter(t, parquetOf(t, "reading"), func(footer []byte) []byte {
		listOfStructs, twoBillions := byte(0xfc), []byte{0xff, 0xff, 0xff, 0xff, 0x07}
		return slices.Concat(footer[:3], []byte{listOfStructs}, twoBillions, footer[4:])
	})
	exhausted(t, hostile)
}

func TestParquetWithALongFooter(t *testing.T) {
	t.Parallel()
	long := parquetOf(t, "reading")
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	exhausted(t, long)
}

func TestBrokenFootersOfParquet(t *testing.T) {
	t.Parallel()
	whole := parquetOf(t, "reading")
	for at := len(whole) - 9; at > len(whole)-400; at -= 17 {
		broken := slices.Clone(whole)
		copy(broken[at-5:at], "\xfe\xfe\xfe\xfe\xfe")
		run(t, step(t, readingFields), broken, mediatype.Parquet)
	}
}

func TestReaderOfParquetEndsWithItsRun(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := step(t, readingFields).Run(ctx, parquetDocument(parquetOf(t, "reading")))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that the run was canceled", err)
	}
}

func TestInferParquet(t *testing.T) {
	t.Parallel()
	kind, inferred, known, err := engines.Infer(t.Context(), parquetDocument(parquetOf(t, "reading")))
	if err != nil || !known || kind != engines.KindTable {
		t.Fatalf("kind = %s, %t, %v, want a table", kind, known, err)
	}
	e := compile(t, kind, string(inferred.Config))
	same(t, []brief{}, briefs(run(t, e, parquetOf(t, "reading"), mediatype.Parquet)))
}

func TestTimesOfSparkBeyondTheYears(t *testing.T) {
	t.Parallel()
	content := parquetOf(t, "int96")
	e := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "at", "type": "datetime"}]}}`)
	report := run(t, e, content, mediatype.Parquet)
	same(t, []brief{
		{"csv.type.datetime", "at", 0, 0, 2, `at "10000-01-01T00:00:00Z" is not a valid date-time`},
		{"csv.type.datetime", "at", 0, 0, 3, `at "-4713-11-23T00:00:00Z" is not a valid date-time`},
	}, briefs(report))
}

func TestParquetWithoutItsProgram(t *testing.T) {
	t.Parallel()
	limits := engines.DefaultLimits()
	limits.Programs = t.TempDir()
	e := compileWithin(t, engines.KindTable, `{"schema": {"fields": `+readingFields+`}}`, limits)
	_, err := e.Run(t.Context(), parquetDocument(parquetOf(t, "reading")))
	failed, ok := errors.AsType[*engine.FailedError](err)
	if !ok || failed.Reason != "this server does not have the program parquet: put an executable file of this name "+
		"into the folder that SV_PROGRAMS names (program.not_installed)" {
		t.Errorf("error = %v, want what to do", err)
	}
}

func TestProgramThatWritesNoRows(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"yes": "gave an invalid answer: ", "cat": "gave an invalid answer: ",
		"false": "ended with the exit code 1: ",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(name)
			if err != nil {
				t.Fatal(err)
			}
			limits := engines.DefaultLimits()
			limits.Programs = t.TempDir()
			if err := os.Symlink(program, filepath.Join(limits.Programs, "parquet")); err != nil {
				t.Fatal(err)
			}
			e := compileWithin(t, engines.KindTable, `{"schema": {"fields": `+readingFields+`}}`, limits)
			_, err = e.Run(t.Context(), parquetDocument(parquetOf(t, "reading")))
			failed, ok := errors.AsType[*engine.FailedError](err)
			if !ok || !strings.HasPrefix(failed.Reason, "the program parquet "+want) {
				t.Errorf("error = %v, want %s", err, want)
			}
		})
	}
}
