package main_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/port/process"

	parquetprogram "github.com/simplevalidations/simplevalidations/validations/programs/parquet"
)

// rowsOf returns the lines that the program writes for a file.
func rowsOf(tb testing.TB, content []byte) []string {
	tb.Helper()
	var out strings.Builder
	request := port.Request{Size: int64(len(content))}
	if err := (parquetprogram.Program{}).Rows(request, bytes.NewReader(content), &out); err != nil {
		tb.Fatal(err)
	}
	return slices.Collect(strings.Lines(out.String()))
}

func wantRows(tb testing.TB, content []byte, want ...string) {
	tb.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n")+"\n", strings.Join(rowsOf(tb, content), "")); diff != "" {
		tb.Errorf("rows (-want +got):\n%s", diff)
	}
}

func malformed(message string) string {
	return `{"finding":{"severity":"ERROR","code":"csv.malformed","message":"` + message + `"}}`
}

func TestRows(t *testing.T) {
	t.Parallel()
	without := goodReading()
	without.KWh, without.Tags, without.Site = nil, nil, nil
	wantRows(t, fileOf(t, []reading{goodReading(), without}),
		`["sid","skwh","scount","ssmall","sprice","sday","sat","sok","stags","ssite","smeter"]`,
		`["sa","n1.5","n9007199254740993","n4294967295","n-1.05","t2026-03-01","t2026-03-01T12:30:00.25Z","btrue",`+
			`"j[\"x\",\"y\"]","j{\"city\":\"Łódź\"}","s01020300-0000-0000-0000-000000000000"]`,
		`["sa",null,"n9007199254740993","n4294967295","n-1.05","t2026-03-01","t2026-03-01T12:30:00.25Z","btrue",`+
			`"j[]","j{}","s01020300-0000-0000-0000-000000000000"]`)
}

func TestChecksumOfDictionary(t *testing.T) {
	t.Parallel()
	type row struct {
		Quality string `parquet:"quality,dict"`
	}
	content := fileOf(t, []row{{"measured"}, {"estimated"}, {"measured"}})
	at := bytes.Index(content, []byte("estimated"))
	if at < 0 {
		t.Fatal("the file has no dictionary")
	}
	wantRows(t, content, `["squality"]`, `["smeasured"]`, `["sestimated"]`, `["smeasured"]`)
	content[at] = 'E'
	wantRows(t, content, malformed("a page does not have its checksum"))
}

func TestCompressedWithLZ4(t *testing.T) {
	t.Parallel()
	type row struct {
		Value int64 `parquet:"value"`
	}
	rows := make([]row, 5_000)
	for i := range rows {
		// Few of the bytes repeat, so they become less than three times as long when they are decompressed.
		rows[i].Value = int64(i) * 0x1E3779B97F4A7C15
	}
	wantRows(t, fileOf(t, rows, parquet.Compression(&parquet.Lz4Raw)),
		malformed("it is compressed with LZ4_RAW; Snappy, gzip, Brotli and Zstandard can be read"))
	got := rowsOf(t, fileOf(t, rows, parquet.Compression(&parquet.Zstd)))
	if len(got) != 1+len(rows) || got[2] != `["n2177342782468422677"]`+"\n" {
		t.Errorf("%d rows, the second of which is %s", len(got)-1, got[2])
	}
}

func TestTimesOfOldWriters(t *testing.T) {
	t.Parallel()
	type row struct {
		At deprecated.Int96 `parquet:"at"`
	}
	wantRows(t, fileOf(t, []row{{deprecated.Int96{0, 0, 2_440_588}}, {deprecated.Int96{0, 0, 1<<32 - 1}}}),
		`["sat"]`, `["t1970-01-01T00:00:00Z"]`, `["t-4713-11-23T00:00:00Z"]`)
}

// What can be read before a page that cannot is a part of the table.
func TestRowsBeforeABrokenPage(t *testing.T) {
	t.Parallel()
	type row struct {
		Note string `parquet:"note"`
	}
	content := fileOf(t, []row{{"first"}, {"second"}}, parquet.MaxRowsPerRowGroup(1))
	got := rowsOf(t, bytes.ReplaceAll(content, []byte("second"), []byte("Second")))
	if len(got) != 3 || got[1] != `["sfirst"]`+"\n" || !strings.HasPrefix(got[2], `{"finding":`) {
		t.Errorf("rows = %q, want the first one and why the second cannot be read", got)
	}
}

func TestProgramRefusesOtherTasks(t *testing.T) {
	t.Parallel()
	for task, want := range map[string]string{
		port.TaskConfigure: `"code":"parquet.type"`, port.TaskCheck: "for steps of the type table",
	} {
		request, err := json.Marshal(port.Request{Version: port.Version, Task: task})
		if err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), process.Built)
		command.Stdin = bytes.NewReader(append(request, '\n'))
		said, err := command.CombinedOutput()
		if (err == nil) != (task == port.TaskConfigure) || !strings.Contains(string(said), want) {
			t.Errorf("%s: %v, %s, want %s", task, err, said, want)
		}
	}
}
