package clients

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
)

//go:embed cases.json
var table []byte

// Case is one behavior that every client shows.
type Case struct {
	Name string `json:"name"`
	// Why says what breaks for users if a client behaves otherwise.
	Why string `json:"why"`
	// Given is a run that exists before.
	Given *Given `json:"given"`
	Op    string `json:"op"`
	Args  Args   `json:"args"`
	// Options of zero take those of DefaultOptions.
	Options Options `json:"options"`
	// Token is "" for a token that may start runs, "bad" for one that does not exist, and "listed" for the token of an
	// organization with five runs.
	Token string `json:"token"`
	// Server is "" for the proxy, "tls" for a proxy whose certificate is not trusted, "not_tls" for an https address
	// behind which nobody speaks TLS, and "down" for an address on which nobody listens.
	Server string `json:"server"`
	// PageSize replaces the page_size of every request, so that few items take several pages.
	PageSize int `json:"page_size"`
	// Faults are what the proxy does with the requests of a route, in their order. What comes later passes.
	Faults map[string][]Fault `json:"faults"`
	Expect Expect             `json:"expect"`
	// Again is what the same call brings when it is made once more with the same key, by another driver process.
	Again *Expect `json:"again"`
}

// Args are the arguments of a call as the table has them.
type Args struct {
	Command

	// Document is the name of a sample that is the content.
	Document string `json:"document"`
	// FileBytes is the size of a file that is made and sent.
	FileBytes int `json:"file_bytes"`
	// AsFile sends the document from a file.
	AsFile bool `json:"as_file"`
	// UseKeyFile has the key kept in a file.
	UseKeyFile bool `json:"use_key_file"`
}

// Given is a run that was started without the client under test.
type Given struct {
	Workflow string `json:"workflow"`
	Document string `json:"document"`
	// Key may be "$KEY", which is the key of the case.
	Key string `json:"key"`
	// Ended waits for the end of the run.
	Ended bool `json:"ended"`
}

// Expect is what a call has to bring. What is absent is not looked at.
type Expect struct {
	// Outcome is created, replayed, ok for calls that start nothing, or the kind of an error.
	Outcome   string  `json:"outcome"`
	Status    int     `json:"status"`
	Code      *string `json:"code"`
	Retryable *bool   `json:"retryable"`
	// Attempts is compared to what the client reports and to the requests that came.
	Attempts    int `json:"attempts"`
	AttemptsMin int `json:"attempts_min"`
	AttemptsMax int `json:"attempts_max"`
	// Sent is how many requests came on each route.
	Sent map[string]int `json:"sent"`
	// Runs is how many runs exist under the key in the end.
	Runs *int `json:"runs"`
	// RunID is "given" for the given run, "some" for any, "none", or an id.
	RunID           string `json:"run_id"`
	RetryAfterMinMS int    `json:"retry_after_min_ms"`
	// GapsMS are the least times between the answer to a request that starts a run and the next such request.
	GapsMS []int    `json:"gaps_ms"`
	State  string   `json:"state"`
	Result string   `json:"result"`
	Events []string `json:"events"`
	// LastEventIDs are the Last-Event-ID headers of the requests for events.
	LastEventIDs []string `json:"last_event_ids"`
	Items        *int     `json:"items"`
	// Times says of created_at, started_at and ended_at whether each is there or null.
	Times map[string]string `json:"times"`
	Form  *Form             `json:"form"`
}

// Form is what a start has to send.
type Form struct {
	Filename         string         `json:"filename"`
	MediaType        string         `json:"media_type"`
	Name             string         `json:"name"`
	ShortDescription string         `json:"short_description"`
	Metadata         map[string]any `json:"metadata"`
}

// Cases reads the table.
func Cases() ([]Case, error) {
	decoder := json.NewDecoder(bytes.NewReader(table))
	decoder.DisallowUnknownFields()
	var cases []Case
	if err := decoder.Decode(&cases); err != nil {
		return nil, fmt.Errorf("read cases.json: %w", err)
	}
	return cases, nil
}
