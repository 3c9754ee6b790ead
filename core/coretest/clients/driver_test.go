package clients

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// Options say how often and how long a client tries a call.
type Options struct {
	Attempts         int `json:"attempts"`
	MinWaitMS        int `json:"min_wait_ms"`
	MaxWaitMS        int `json:"max_wait_ms"`
	BudgetMS         int `json:"budget_ms"`
	AttemptTimeoutMS int `json:"attempt_timeout_ms"`
}

// DefaultOptions wait hardly ever.
func DefaultOptions() Options {
	return Options{Attempts: 4, MinWaitMS: 5, MaxWaitMS: 20, BudgetMS: 120_000, AttemptTimeoutMS: 60_000}
}

// Command are the arguments of a call as a driver gets them. An empty one is absent.
type Command struct {
	Workflow string `json:"workflow,omitempty"`
	Version  int    `json:"version,omitempty"`
	Key      string `json:"key,omitempty"`
	// KeyFile is the path of a file that keeps the key, see the package's comment.
	KeyFile string `json:"key_file,omitempty"`
	// ContentBase64 is the document, or File is the path of the file that has it; that is opened and streamed.
	ContentBase64    string         `json:"content_base64,omitempty"`
	File             string         `json:"file,omitempty"`
	Filename         string         `json:"filename,omitempty"`
	MediaType        string         `json:"media_type,omitempty"`
	Name             string         `json:"name,omitempty"`
	ShortDescription string         `json:"short_description,omitempty"`
	Metadata         map[string]any `json:"metadata,omitempty"`
	// RunID is the run of rerun, wait, get, findings and cancel.
	RunID string `json:"run_id,omitempty"`
	// Webhook is the request of verify.
	Webhook *WebhookRequest `json:"webhook,omitempty"`
}

// WebhookRequest is a request that a receiver of webhooks gets, and what it verifies it with.
type WebhookRequest struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Secrets []string          `json:"secrets"`
	// Now is the time in seconds.
	Now int64 `json:"now"`
}

// Call is a line that a driver reads.
type Call struct {
	ID      string `json:"id"`
	BaseURL string `json:"base_url"`
	Token   string `json:"token"`
	// Op is start, rerun, wait, run (start and wait), get, findings, list_runs, list_workflows, cancel, me
	// or verify.
	Op      string  `json:"op"`
	Args    Command `json:"args"`
	Options Options `json:"options"`
}

// The kinds of errors.
const (
	Refused        = "refused"
	UnknownOutcome = "unknown_outcome"
	Unreachable    = "unreachable"
	// Invalid is every other error, such as a key file without a key, or an answer that is not that of the service.
	Invalid = "invalid"
)

// Outcome is a line that a driver writes.
type Outcome struct {
	ID string `json:"id"`
	OK bool   `json:"ok"`
	// Key is the idempotency key of a start or rerun, also of one that failed.
	Key   string `json:"key"`
	RunID string `json:"run_id"`
	// Attempts is how often the start, rerun or failed request was sent.
	Attempts int `json:"attempts"`

	// Replayed is about starts and reruns; State, Result and the times are of the run that was got last.
	Replayed  bool    `json:"replayed"`
	State     string  `json:"state"`
	Result    string  `json:"result"`
	CreatedAt *string `json:"created_at"`
	StartedAt *string `json:"started_at"`
	EndedAt   *string `json:"ended_at"`
	// Items are the ids of a list, for me the id of the user, and for verify the type of the event.
	Items []string `json:"items"`
	// Events are the names of the events that wait and run have reported.
	Events []string `json:"events"`

	// Error is the kind of an error, and Text is its text.
	Error        string `json:"error"`
	Text         string `json:"text"`
	Code         string `json:"code"`
	Status       int    `json:"status"`
	RetryAfterMS int    `json:"retry_after_ms"`
	Retryable    bool   `json:"retryable"`
}

// Driver executes calls with a client. Several may be under way at once.
type Driver interface {
	Do(ctx context.Context, call Call) (Outcome, error)
	// Close ends the driver, all of whose calls have ended.
	Close() error
}

// errDriverEnded says that a driver has no answer to a call.
var errDriverEnded = errors.New("the driver has ended")

// Process is a driver that is a program.
type Process struct {
	cmd   *exec.Cmd
	input io.WriteCloser
	ended chan struct{}
	err   error

	mu      sync.Mutex
	waiting map[string]chan Outcome
}

// StartDriver starts a driver that is a program.
func StartDriver(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, ended: make(chan struct{}), waiting: make(map[string]chan Outcome)}
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("open the input of %s: %w", cmd, err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open the output of %s: %w", cmd, err)
	}
	p.input = input
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd, err)
	}
	go func() {
		defer close(p.ended)
		p.err = errors.Join(p.read(output), cmd.Wait())
	}()
	return p, nil
}

// Do writes the call and waits for its outcome.
func (p *Process) Do(ctx context.Context, call Call) (Outcome, error) {
	line, err := json.Marshal(call)
	if err != nil {
		return Outcome{}, fmt.Errorf("write call %s: %w", call.ID, err)
	}
	done := make(chan Outcome, 1)
	p.mu.Lock()
	p.waiting[call.ID] = done
	_, err = p.input.Write(append(line, '\n'))
	p.mu.Unlock()
	if err != nil {
		return Outcome{}, fmt.Errorf("write call %s: %w", call.ID, err)
	}
	select {
	case outcome := <-done:
		return outcome, nil
	case <-p.ended:
		return Outcome{}, fmt.Errorf("call %s: %w", call.ID, errors.Join(errDriverEnded, p.err))
	case <-ctx.Done():
		return Outcome{}, fmt.Errorf("call %s: %w", call.ID, ctx.Err())
	}
}

// Close ends the input and waits for the program's end.
func (p *Process) Close() error {
	if err := p.input.Close(); err != nil {
		return fmt.Errorf("end the input of %s: %w", p.cmd, err)
	}
	<-p.ended
	return p.err
}

func (p *Process) read(output io.Reader) error {
	const longestLine = 16 << 20
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		var outcome Outcome
		if err := json.Unmarshal(lines.Bytes(), &outcome); err != nil {
			return fmt.Errorf("read the outcome %q: %w", lines.Text(), err)
		}
		p.mu.Lock()
		done := p.waiting[outcome.ID]
		delete(p.waiting, outcome.ID)
		p.mu.Unlock()
		if done == nil {
			return fmt.Errorf("read the outcome %q: there is no such call", lines.Text())
		}
		done <- outcome
	}
	return lines.Err()
}

// drivers are the clients that are tested, by their names.
func drivers() map[string]func(testing.TB) Driver {
	return map[string]func(testing.TB) Driver{
		"Go": func(testing.TB) Driver { return newGoDriver() },
		"Python": func(tb testing.TB) Driver {
			tb.Helper()
			return programDriver(tb, "../../client/python", "python3", "tests/driver.py")
		},
		"TypeScript": newTypeScriptDriver,
	}
}

// programDriver starts a driver that is a program, which has to end well.
func programDriver(tb testing.TB, dir, name string, args ...string) *Process {
	tb.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	driver, err := StartDriver(cmd)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := driver.Close(); err != nil {
			tb.Errorf("driver %s: %v", name, err)
		}
	})
	return driver
}
