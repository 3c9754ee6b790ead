package program

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/simplevalidations/simplevalidations/docs"
)

// Order is a request to start a run.
type Order struct {
	Workflow, Key, MediaType string
	Body                     []byte
}

// Request makes the request of the order to the server at the address base, without a token.
func (o Order) Request(ctx context.Context, base string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost,
		base+"/api/workflows/"+o.Workflow+"/start/", bytes.NewReader(o.Body))
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Content-Type", o.MediaType)
	if o.Key != "" {
		request.Header.Set("Idempotency-Key", o.Key)
	}
	return request, nil
}

// Building is an order for a document without findings.
func Building(tb testing.TB, key string) Order {
	tb.Helper()
	return Order{Workflow: "building", Key: key, MediaType: "application/json", Body: Sample(tb, "good/building.json")}
}

// Readings is an order for a document with findings.
func Readings(tb testing.TB, key string) Order {
	tb.Helper()
	document := Sample(tb, "bad/meter-readings.csv")
	return Order{Workflow: "meter-readings", Key: key, MediaType: "text/csv", Body: document}
}

// Sample reads one of the documents of the demonstration.
func Sample(tb testing.TB, name string) []byte {
	tb.Helper()
	text, err := docs.Sample(name)
	if err != nil {
		tb.Fatalf("read sample: %v", err)
	}
	return text
}
