package operations

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest/program"
)

// A process that stops sends its last spans before it ends, and its log leads to them.
func TestLastSpansAreSent(t *testing.T) {
	t.Parallel()
	const clientTrace = "0af7651916cd43dd8448eb211c80319c"
	var mu sync.Mutex
	var sent []byte
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		text, err := io.ReadAll(request.Body)
		if err != nil {
			t.Errorf("read spans: %v", err)
		}
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, text...)
	}))
	t.Cleanup(receiver.Close)
	i := program.Install(t, "SV_LOG_LEVEL=info", "SV_OTLP_ENDPOINT="+receiver.URL, "OTEL_BSP_SCHEDULE_DELAY=3600000")
	s := program.Serve(t, i.Settings, "--only", "web")
	request, err := program.Building(t, "traced").Request(t.Context(), s.URL())
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Traceparent", "00-"+clientTrace+"-b7ad6b7169203331-01")
	a, err := program.NewClient(t, i.Harbour.Tokens.Executor).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	program.WantCreated(t, a)
	s.Signal(t, syscall.SIGTERM)
	if code := s.ExitCode(t); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
	id, err := hex.DecodeString(clientTrace)
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, span := range []string{"POST /api/workflows/:id/start/", "start.commit"} {
		if !bytes.Contains(sent, id) || !bytes.Contains(sent, []byte(span)) {
			t.Errorf("what was sent has no span %s of the client's trace", span)
		}
	}
	for line := range strings.Lines(s.Stderr()) {
		if strings.Contains(line, "method=POST") && !strings.Contains(line, "trace_id="+clientTrace) {
			t.Errorf("line of the request = %s, want the trace", line)
		}
	}
	if !strings.Contains(s.Stderr(), "trace_id="+clientTrace) {
		t.Errorf("no line of the log has the trace:\n%s", s.Stderr())
	}
}
