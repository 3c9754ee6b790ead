package idempotency_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/idempotency"
)

func BenchmarkDigestJSON(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10, 1 << 20} {
		content := readings(size)
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := idempotency.DigestJSON(content, 100); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	request := idempotency.Request{
		Method: "POST", Endpoint: "workflow_start", Target: "0198c0de-0000-7000-8000-000000000001",
		MediaType: "raw;structure;application/json",
		Options:   []idempotency.Option{{Name: "filename", Value: "a.json"}, {Name: "name", Value: "March"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		request.Fingerprint()
	}
}

// readings is a JSON document of about the size, with members out of order and white space, as clients
// send them.
func readings(size int) []byte {
	var text strings.Builder
	text.WriteString(`{"unit": "kWh", "readings": [`)
	for i := 0; text.Len() < size-100; i++ {
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(`{"quality": "A", "meter": "MTR-` + strconv.Itoa(i) +
			`", "kwh": 12.50, "at": "2026-02-28T06:00:00Z"}`)
	}
	text.WriteString(`], "building": {"name": "H\u00e4fen \"4\""}}`)
	return []byte(text.String())
}
