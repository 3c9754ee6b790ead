package port

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
)

// long finds a line in documents of more bytes than its configuration says.
type long struct{}

func (long) Configure(config json.RawMessage) ([]Fault, []Promise) {
	if string(config) == "{}" {
		return []Fault{{Pointer: "/most", Code: "config.missing", Detail: "say <how> many"}}, nil
	}
	return nil, []Promise{{Words: "few"}}
}

func (long) Check(request Request, document io.Reader) (Report, error) {
	content, err := io.ReadAll(document)
	switch {
	case err != nil:
		return Report{}, err
	case string(content) == "huge":
		return Report{}, &ExhaustedError{Reason: "needed more than this"}
	case string(content) == "odd":
		return Report{}, errors.New("an odd document")
	}
	offset := int64(0)
	finding := Finding{Severity: "ERROR", Code: "long", Message: request.Filename + string(content), Offset: &offset}
	return Report{Findings: []Finding{finding}, Counts: &Counts{Errors: 2}, Truncated: true}, nil
}

// lines reads the lines of documents as the rows of a table.
type lines struct{ long }

func (lines) Rows(request Request, document io.Reader, rows io.Writer) error {
	content, err := io.ReadAll(document)
	if err == nil {
		_, err = io.WriteString(rows, request.Filename+string(content))
	}
	return err
}

func TestServe(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		in, out, failures string
		code              int
	}{
		"Check": {
			in: `{"version":1,"task":"check","config":{},"filename":"a","size":3}` + "\nabcd",
			out: `{"finding":{"severity":"ERROR","code":"long","message":"aabc","offset":0}}` + "\n" +
				`{"counts":{"errors":2,"warnings":0,"infos":0}}` + "\n" + `{"truncated":true}` + "\n",
		},
		"Fault": {
			in:  `{"version":1,"task":"configure","config":{}}` + "\n",
			out: `{"fault":{"pointer":"/most","code":"config.missing","detail":"say <how> many"}}` + "\n",
		},
		"Promise": {
			in:  `{"version":1,"task":"configure","config":{"most":1}}` + "\n",
			out: `{"promise":{"words":"few"}}` + "\n",
		},
		"Exhausted": {
			in:       `{"version":1,"task":"check","config":{},"size":4}` + "\nhuge",
			failures: "needed more than this\n", code: ExitExhausted,
		},
		"Failed": {
			in:       `{"version":1,"task":"check","config":{},"size":3}` + "\nodd",
			failures: "an odd document\n", code: 1,
		},
		"OtherVersion": {
			in:       `{"version":2,"task":"check"}` + "\n",
			failures: "this program speaks version 1 of the contract, and not 2\n", code: 1,
		},
		"Rows":      {in: `{"version":1,"task":"rows","filename":"a","size":3}` + "\nabcd", out: "aabc"},
		"OtherTask": {in: `{"version":1,"task":"sing"}` + "\n", failures: "unknown task \"sing\"\n", code: 1},
		"NoRows":    {in: `{"version":1,"task":"rows"}` + "\n", failures: "unknown task \"rows\"\n", code: 1},
		"Nothing":   {failures: "read the request: EOF\n", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out, failures bytes.Buffer
			program := Program(long{})
			if name == "Rows" {
				program = lines{}
			}
			code := serve(program, strings.NewReader(tt.in), &out, &failures)
			if code != tt.code || out.String() != tt.out || failures.String() != tt.failures {
				t.Errorf("serve = %d, %q, %q", code, out.String(), failures.String())
			}
		})
	}
}
