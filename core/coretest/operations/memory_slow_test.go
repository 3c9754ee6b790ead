//go:build linux && slow

package operations

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

const (
	mebibyte = 1 << 20
	// uploadBytes is the largest body by default.
	uploadBytes = 10 * mebibyte
	// The memory above idle in MiB that the guide promises for it. What the collector lets lie is part of it.
	streamedMemory   = 30
	wholeMemory      = 45
	structuredMemory = 90
)

// upload is a start with a body of uploadBytes, or with a small one of the same kind.
type upload struct {
	name, workflow, mediaType string
	body                      func(size int) []byte
	allowed                   int
}

// TestMemoryOfUploads measures the most that a server ever holds while a large document arrives, above what it holds
// after a small one. The numbers in the guide are its log.
func TestMemoryOfUploads(t *testing.T) {
	t.Parallel()
	s := program.Install(t)
	for _, u := range uploads(t) {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			server := program.Serve(t, s.Settings, "--only", "web")
			client := program.NewClient(t, s.Harbour.Tokens.Executor)
			post := func(size int) {
				got := client.Start(t, server.URL(), program.Order{
					Workflow: u.workflow, MediaType: u.mediaType, Body: u.body(size),
				})
				if got.Status != http.StatusCreated {
					t.Fatalf("status = %d, want 201; body %s", got.Status, got.Body)
				}
			}
			post(mebibyte / 1024)
			idle := peakMemory(t, server)
			post(uploadBytes)
			above := peakMemory(t, server) - idle
			if above > u.allowed {
				t.Errorf("memory above idle = %d MiB, want at most %d", above, u.allowed)
			}
			t.Logf("| %s | %d MiB |", u.name, above)
		})
	}
}

func uploads(tb testing.TB) []upload {
	tb.Helper()
	row := "MTR-0001,2026-03-01T00:00:00Z,1.5,A,day\n"
	table := func(size int) []byte { return bytes.Repeat([]byte(row), size/len(row)) }
	object := func(size int) []byte {
		one := `{"id": "Z1", "name": "An office", "area_m2": 320},` + "\n"
		return []byte(`{"zones": [` + strings.Repeat(one, size/len(one)-1) + `{}]}`)
	}
	const boundary = "X"
	form := func(size int) []byte {
		return fmt.Appendf(nil, "--%[1]s\r\nContent-Disposition: form-data; name=file\r\n"+
			"Content-Type: text/csv\r\n\r\n%[2]s\r\n--%[1]s--\r\n", boundary, table(size-200))
	}
	enveloped := func(members map[string]any) []byte {
		members["content_type"] = "text/csv"
		text, err := json.Marshal(members)
		if err != nil {
			tb.Error(err)
		}
		return text
	}
	const jsonType = "application/json"
	return []upload{
		{"Raw", "meter-readings", "text/csv", table, streamedMemory},
		{"Form", "meter-readings", "multipart/form-data; boundary=" + boundary, form, streamedMemory},
		{"JSON", "building", jsonType, object, wholeMemory},
		{"EnvelopeOfText", "meter-readings", jsonType, func(size int) []byte {
			return enveloped(map[string]any{"content": string(table(size * 95 / 100))})
		}, wholeMemory},
		{"EnvelopeOfBase64", "meter-readings", jsonType, func(size int) []byte {
			encoded := base64.StdEncoding.EncodeToString(table(size * 74 / 100))
			return enveloped(map[string]any{"content": encoded, "content_encoding": "base64"})
		}, wholeMemory},
		{"EnvelopeOfAnObject", "building", jsonType, func(size int) []byte {
			return append(append([]byte(`{"content": `), object(size-100)...), '}')
		}, structuredMemory},
	}
}

// peakMemory is the most that a server has held so far in MiB.
func peakMemory(tb testing.TB, server *program.Server) int {
	tb.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", server.PID()))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibibytes, err := strconv.Atoi(strings.Fields(text)[0])
			if err != nil {
				tb.Fatal(err)
			}
			return kibibytes >> 10
		}
	}
	tb.Fatal("the kernel does not tell the peak of memory")
	return 0
}
