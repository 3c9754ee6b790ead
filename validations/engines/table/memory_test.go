package table_test

import (
	"bytes"
	"io"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/engines"
)

const readingsHead = "meter_id,read_at,kwh,quality,tariff\n"

// readings is a table of any length that is made while it is read. It watches the heap meanwhile.
type readings struct {
	head string
	rows int
	peak uint64
	next int
}

const readingBytes = len("MTR-0000,2026-03-01T00:00:00.000000000Z,1.5,A,day\n")

func (r *readings) size() int64 {
	return int64(len(r.head) + r.rows*readingBytes)
}

// ReadAt makes the rows in the order in which a stream asks for them.
func (r *readings) ReadAt(p []byte, offset int64) (int, error) {
	const watchEvery = 16
	r.next++
	if r.next%watchEvery == 0 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		r.peak = max(r.peak, m.HeapInuse)
	}
	var b bytes.Buffer
	if offset < int64(len(r.head)) {
		b.WriteString(r.head[offset:])
		offset = int64(len(r.head))
	}
	row := int(offset-int64(len(r.head))) / readingBytes
	skip := int(offset-int64(len(r.head))) % readingBytes
	for ; row < r.rows && b.Len() < len(p)+readingBytes; row++ {
		text := "MTR-" + pad(row%10_000, 4) + ",2026-03-01T00:00:00." + pad(row, 9) + "Z,1.5,A,day\n"
		b.WriteString(text[skip:])
		skip = 0
	}
	n := copy(p, b.Bytes())
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func pad(n, width int) string {
	digits := strconv.Itoa(n)
	return strings.Repeat("0", width-len(digits)) + digits
}

// checkMemory streams a table of so many rows and compares the most the heap held with what is allowed above idle.
func checkMemory(t *testing.T, rows int, allowed uint64) {
	t.Helper()
	engine := compile(t, engines.KindTable, string(sample(t, "schemas/meter-readings.table-step.json")))
	table := &readings{head: readingsHead, rows: rows}
	var idle runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&idle)
	report, err := engine.Run(t.Context(), engines.Document{Content: table, Size: table.size(), MediaType: "text/csv"})
	if err != nil || len(report.Findings) > 0 {
		t.Fatalf("findings = %+v with %v, want none", report.Findings, err)
	}
	if above := max(table.peak, idle.HeapInuse) - idle.HeapInuse; above > allowed {
		t.Errorf("memory above idle = %d MiB, want at most %d", above>>20, allowed>>20)
	}
}

//nolint:paralleltest // it measures the memory of the whole process
func TestTablesAreStreamed(t *testing.T) {
	checkMemory(t, 100_000, 16<<20)
}
