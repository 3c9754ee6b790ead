package main_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
)

var update = flag.Bool("update", false, "write the files of the tests of the engine anew")

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

func goodReading() reading {
	kwh := 1.5
	return reading{
		ID: "a", KWh: &kwh, Count: 9007199254740993, Small: 4294967295, Price: -105, Day: 20513,
		At: time.Date(2026, time.March, 1, 12, 30, 0, 250_000_000, time.UTC), OK: true,
		Tags: []string{"x", "y"}, Site: map[string]string{"city": "Łódź"}, Meter: [16]byte{1, 2, 3},
	}
}

// fileOf writes rows as a file.
func fileOf[T any](tb testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	tb.Helper()
	var file bytes.Buffer
	writer := parquet.NewGenericWriter[T](&file, options...)
	_, err := writer.Write(rows)
	if err := errors.Join(err, writer.Close()); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

// The tests of the engine read files that the library has written. They are kept, so that the service does not need it.
func TestFilesOfTheEngine(t *testing.T) {
	t.Parallel()
	type meter struct {
		ID  string   `parquet:"id"`
		KWh *float64 `parquet:"kwh,optional"`
	}
	type other struct {
		Other string `parquet:"id2"`
	}
	type old struct {
		At deprecated.Int96 `parquet:"at"`
	}
	kwh, without := 2.0, goodReading()
	without.KWh = nil
	for name, content := range map[string][]byte{
		"reading":  fileOf(t, []reading{goodReading()}),
		"readings": fileOf(t, []reading{goodReading(), without}),
		"meters":   fileOf(t, []meter{{"a", &kwh}, {"b", nil}, {"a", &kwh}}),
		"other":    fileOf(t, []other{{"a"}, {"b"}}),
		"int96": fileOf(t, []old{
			{deprecated.Int96{0, 0, 2_440_588}},
			{deprecated.Int96{0, 0, 5_373_485}},
			{deprecated.Int96{0, 0, 1<<32 - 1}},
		}),
	} {
		file := filepath.Join("..", "..", "engines", "table", "testdata", name+".parquet")
		if *update {
			if err := os.WriteFile(file, content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if kept, err := os.ReadFile(file); err != nil || !bytes.Equal(kept, content) {
			t.Errorf("%s is not what -update writes: %v", file, err)
		}
	}
}
