package table_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// reading is a row with a value of each type that tables have.
type reading struct {
	ID    string            `parquet:"id"`
	KWh   *float64          `parquet:"kwh,optional"`
	Count int64             `parquet:"count"`
	Small uint32            `parquet:"small"`
	Price int64             `parquet:"price,decimal(2:18)"`
	Day   int32             `parquet:"day,date"`
	At    time.Time         `parquet:"at,timestamp(microsecond)"`
	OK    bool              `parquet:"ok"`
	Tags  []string          `parquet:"tags,list"`
	Site  map[string]string `parquet:"site"`
	Meter [16]byte          `parquet:"meter,uuid"`
}

const readingFields = `[{"name": "id"}, {"name": "kwh", "type": "number"}, 
	{"name": "count", "type": "integer", "constraints": {"minimum": 9007199254740993}},
	{"name": "small", "type": "integer"}, {"name": "price", "type": "number"}, {"name": "day", "type": "date"},
	{"name": "at", "type": "datetime"}, {"name": "ok", "type": "boolean"}, {"name": "tags", "type": "array"},
	{"name": "site", "type": "object"}, {"name": "meter", "format": "uuid"}]`

func goodReading() reading {
	kwh := 1.5
	return reading{
		ID: "a", KWh: &kwh, Count: 9007199254740993, Small: 4294967295, Price: -105, Day: 20513,
		At: time.Date(2026, time.March, 1, 12, 30, 0, 250_000_000, time.UTC), OK: true,
		Tags: []string{"x", "y"}, Site: map[string]string{"city": "Łódź"}, Meter: [16]byte{1, 2, 3},
	}
}

// parquetOf writes rows as a file.
func parquetOf[T any](tb testing.TB, rows ...T) []byte {
	tb.Helper()
	var file bytes.Buffer
	writer := parquet.NewGenericWriter[T](&file)
	if _, err := writer.Write(rows); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

func parquetDocument(content []byte) engines.Document {
	return engines.NewDocument(content, mediatype.Parquet, "readings.parquet")
}

func TestParquet(t *testing.T) {
	t.Parallel()
	good := goodReading()
	without := goodReading()
	without.KWh = nil

	t.Run("EveryTypeIsRead", func(t *testing.T) {
		t.Parallel()
		got := run(t, step(t, readingFields), parquetOf(t, good, without), mediatype.Parquet)
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
		for _, finding := range run(t, step(t, wrong), parquetOf(t, good), mediatype.Parquet).Findings {
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
		type narrow struct {
			ID  string   `parquet:"id"`
			KWh *float64 `parquet:"kwh,optional"`
		}
		kwh := 2.0
		got := run(t, checks, parquetOf(t, narrow{"a", &kwh}, narrow{"b", nil}, narrow{"a", &kwh}), mediatype.Parquet)
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
		type other struct {
			Other string `parquet:"id2"`
		}
		got := run(t, step(t, `[{"name": "id", "constraints": {"required": true}}]`),
			parquetOf(t, other{"a"}, other{"b"}), mediatype.Parquet)
		same(t, briefs(got), []brief{
			{"csv.header.unknown", "id2", 0, 0, 0, "id2 is not allowed"},
			{"csv.header.missing", "id", 0, 0, 0, "the header lacks the column id"},
		})
	})
}

func TestParquetFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	whole := parquetOf(t, goodReading())
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
	hostile := withFooter(t, parquetOf(t, goodReading()), func(footer []byte) []byte {
		listOfStructs, twoBillions := byte(0xfc), []byte{0xff, 0xff, 0xff, 0xff, 0x07}
		return slices.Concat(footer[:3], []byte{listOfStructs}, twoBillions, footer[4:])
	})
	exhausted(t, hostile)
}

func TestParquetWithALongFooter(t *testing.T) {
	t.Parallel()
	long := parquetOf(t, goodReading())
	binary.LittleEndian.PutUint32(long[len(long)-8:], 1<<31)
	exhausted(t, long)
}

func TestBrokenFootersOfParquet(t *testing.T) {
	t.Parallel()
	whole := parquetOf(t, goodReading())
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
	_, err := step(t, readingFields).Run(ctx, parquetDocument(parquetOf(t, goodReading())))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want that the run was canceled", err)
	}
}

func TestInferParquet(t *testing.T) {
	t.Parallel()
	kind, inferred, known, err := engines.Infer(t.Context(), parquetDocument(parquetOf(t, goodReading())))
	if err != nil || !known || kind != engines.KindTable {
		t.Fatalf("kind = %s, %t, %v, want a table", kind, known, err)
	}
	e := compile(t, kind, string(inferred.Config))
	same(t, []brief{}, briefs(run(t, e, parquetOf(t, goodReading()), mediatype.Parquet)))
}

func TestParquetCompressedWithLZ4(t *testing.T) {
	t.Parallel()
	type row struct {
		Value int64 `parquet:"value"`
	}
	rows := make([]row, 5_000)
	for i := range rows {
		// Few of the bytes repeat, so they become less than three times as long when they are decompressed.
		rows[i].Value = int64(i) * 0x1E3779B97F4A7C15
	}
	var file bytes.Buffer
	writer := parquet.NewGenericWriter[row](&file, parquet.Compression(&parquet.Lz4Raw))
	_, err := writer.Write(rows)
	if err := errors.Join(err, writer.Close()); err != nil {
		t.Fatal(err)
	}
	e := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "value", "type": "integer"}]}}`)
	report := run(t, e, file.Bytes(), mediatype.Parquet)
	same(t, []brief{{"csv.malformed", "", 0, 0, 0, "the file cannot be read: it is compressed with LZ4_RAW; " +
		"Snappy, gzip, Brotli and Zstandard can be read"}}, briefs(report))
}

func TestTimesOfSparkBeyondTheYears(t *testing.T) {
	t.Parallel()
	type row struct {
		At deprecated.Int96 `parquet:"at"`
	}
	content := parquetOf(t, row{deprecated.Int96{0, 0, 2_440_588}}, row{deprecated.Int96{0, 0, 5_373_485}},
		row{deprecated.Int96{0, 0, 1<<32 - 1}})
	e := compile(t, engines.KindTable, `{"schema": {"fields": [{"name": "at", "type": "datetime"}]}}`)
	report := run(t, e, content, mediatype.Parquet)
	same(t, []brief{
		{"csv.type.datetime", "at", 0, 0, 2, `at "10000-01-01T00:00:00Z" is not a valid date-time`},
		{"csv.type.datetime", "at", 0, 0, 3, `at "-4713-11-23T00:00:00Z" is not a valid date-time`},
	}, briefs(report))
}
