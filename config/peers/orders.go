package main

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"
)

// An order is the row that a request creates.
type order struct {
	ID        string `json:"id"`
	Reference string `json:"reference"`
	Amount    int    `json:"amount"`
	Tenant    string `json:"tenant"`
}

// A request is the body of POST /orders, and the tenant of its token.
type request struct {
	Reference string `json:"reference"`
	Amount    int    `json:"amount"`
	DelayMS   int    `json:"delay_ms"`
	Tenant    string `json:"tenant"`
}

// A refusal is an answer that is no order.
type refusal struct {
	Status  int    `json:"-"`
	Message string `json:"error"`
}

func (r *refusal) Error() string { return r.Message }

// orders keeps the rows in a file of one JSON object a line, so that they outlive the process.
type orders struct {
	mutex sync.Mutex
	file  *os.File
	rows  []order
}

func openOrders(folder string) (*orders, error) {
	path := filepath.Join(folder, "orders.jsonl")
	stored, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	opened := &orders{rows: []order{}}
	for line := range bytes.Lines(stored) {
		var row order
		if json.Unmarshal(line, &row) == nil {
			opened.rows = append(opened.rows, row)
		}
	}
	opened.file, err = os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	return opened, err
}

// parse reads a body. A tenant in it is not believed.
func parse(tenant string, body []byte) (request, error) {
	var parsed request
	if err := json.Unmarshal(body, &parsed); err != nil {
		return request{}, &refusal{http.StatusBadRequest, "the body is no JSON object of an order"}
	}
	parsed.Tenant = tenant
	return parsed, nil
}

// prepare is the handler behind every library up to its effect: it refuses, fails or waits as the amount says.
func prepare(r request) (order, error) {
	switch {
	case r.Amount < 0:
		return order{}, &refusal{http.StatusBadRequest, "the amount is negative"}
	case r.Amount == 500:
		return order{}, &refusal{http.StatusInternalServerError, "the handler failed"}
	case r.Amount == 1000 && r.DelayMS == 0:
		r.DelayMS = 1000
	}
	time.Sleep(time.Duration(r.DelayMS) * time.Millisecond)
	return order{uuid.NewString(), r.Reference, r.Amount, r.Tenant}, nil
}

// create is the handler with its effect, a row.
func (o *orders) create(r request) (order, error) {
	row, err := prepare(r)
	if err != nil {
		return order{}, err
	}
	line, err := json.Marshal(row)
	if err != nil {
		return order{}, err
	}
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if _, err := o.file.Write(append(line, '\n')); err != nil {
		return order{}, err
	}
	o.rows = append(o.rows, row)
	return row, nil
}

// list has the rows with the reference, or all of them without one.
func (o *orders) list(reference string) []order {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	found := []order{}
	for _, row := range o.rows {
		if reference == "" || row.Reference == reference {
			found = append(found, row)
		}
	}
	return found
}

// tenant is named by the token: a or b. The answer shares no memory with what Fiber gives, which it uses again.
func tenant(authorization string) string {
	switch authorization {
	case "Bearer a":
		return "a"
	case "Bearer b":
		return "b"
	}
	return ""
}
