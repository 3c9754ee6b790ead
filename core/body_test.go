package core_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
)

type readBody struct {
	Name  string     `json:"name"  validate:"required"`
	Count int        `json:"count"`
	Items []readItem `json:"items" validate:"dive"`
}

type readItem struct {
	ID string `json:"id" validate:"required"`
}

// bodyLimit is the largest body in these tests.
const bodyLimit = 64

func bodyRequest(contentType, body string) *http.Request {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("Content-Type", contentType)
	return request
}

func readJSON(request *http.Request) (readBody, []byte, error) {
	var value readBody
	c := echo.New().NewContext(request, httptest.NewRecorder())
	raw, err := core.ReadJSON(c, core.NewValidator(), bodyLimit, &value)
	return value, raw, err
}

func TestReadJSON(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		contentType, body string
		want              readBody
	}{
		"Plain":      {"application/json", `{"name":"a","count":2}`, readBody{Name: "a", Count: 2}},
		"Parameters": {"Application/JSON; charset=utf-8", `{"name":"a"}`, readBody{Name: "a"}},
		"WhiteSpace": {"application/json", " {\n\"name\" : \"a\" }\r\n", readBody{Name: "a"}},
		"Escapes":    {"application/json", `{"n\u0061me":"\u00e4"}`, readBody{Name: "ä"}},
		"List": {
			"application/json", `{"name":"a","items":[{"id":"x"}]}`,
			readBody{Name: "a", Items: []readItem{{"x"}}},
		},
		"AtTheLimit": {
			"application/json", `{"name":"` + strings.Repeat("a", bodyLimit-11) + `"}`,
			readBody{Name: strings.Repeat("a", bodyLimit-11)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, raw, err := readJSON(bodyRequest(tt.contentType, tt.body))
			if err != nil {
				t.Fatalf("ReadJSON = %v, want nil", err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("value (-want +got):\n%s", diff)
			}
			if string(raw) != tt.body {
				t.Errorf("bytes = %q, want %q", raw, tt.body)
			}
		})
	}
}

func TestReadJSONRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body    string
		code    core.Code
		pointer string
	}{
		"TooLarge":        {`{"name":"` + strings.Repeat("a", bodyLimit-10) + `"}`, core.CodePayloadTooLarge, ""},
		"Empty":           {"", core.CodeInvalidPayload, ""},
		"CutOff":          {`{"name":"a"`, core.CodeInvalidPayload, ""},
		"TwoValues":       {`{"name":"a"}{}`, core.CodeInvalidPayload, ""},
		"OtherValue":      {`["a"]`, core.CodeInvalidPayload, ""},
		"Null":            {`null`, core.CodeInvalidPayload, "/name"},
		"RuleBroken":      {`{"count":1}`, core.CodeInvalidPayload, "/name"},
		"RuleBrokenIn":    {`{"name":"a","items":[{}]}`, core.CodeInvalidPayload, "/items/0/id"},
		"UnknownMember":   {`{"name":"a","nick":"b"}`, core.CodeInvalidPayload, "/nick"},
		"UnknownInside":   {`{"name":"a","items":[{"a~/b":1}]}`, core.CodeInvalidPayload, "/items/0/a~0~1b"},
		"OtherCase":       {`{"Name":"a"}`, core.CodeInvalidPayload, "/Name"},
		"DuplicateMember": {`{"name":"a","name":"b"}`, core.CodeInvalidPayload, "/name"},
		"DuplicateByCode": {`{"name":"a","n\u0061me":"b"}`, core.CodeInvalidPayload, "/name"},
		"WrongType":       {`{"name":"a","count":"1"}`, core.CodeInvalidPayload, "/count"},
		"NumberTooLarge":  {`{"name":"a","count":99999999999999999999}`, core.CodeInvalidPayload, "/count"},
		"Fraction":        {`{"name":"a","count":1.5}`, core.CodeInvalidPayload, "/count"},
		"BadUTF8":         {"{\"name\":\"\xff\"}", core.CodeInvalidPayload, "/name"},
		"LoneSurrogate":   {`{"name":"\ud800"}`, core.CodeInvalidPayload, "/name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readJSON(bodyRequest("application/json", tt.body))
			clientErr, ok := errors.AsType[*core.Error](err)
			if !ok || clientErr.Code != tt.code {
				t.Fatalf("ReadJSON = %v, want %s", err, tt.code)
			}
			if clientErr.Detail == "" || (tt.pointer != "" && len(clientErr.Fields) != 1) {
				t.Fatalf("error = %+v, want a detail and one place", clientErr)
			}
			if tt.pointer != "" && clientErr.Fields[0].Pointer != tt.pointer {
				t.Errorf("pointer = %q, want %q", clientErr.Fields[0].Pointer, tt.pointer)
			}
		})
	}
}

func TestReadJSONRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", "text/plain", "application/problem+json", "application/json; ="} {
		_, _, err := readJSON(bodyRequest(contentType, `{"name":"a"}`))
		if !core.HasCode(err, core.CodeUnsupportedMediaType) {
			t.Errorf("ReadJSON of %q = %v, want %s", contentType, err, core.CodeUnsupportedMediaType)
		}
	}
}

func TestReadJSONOfABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		code core.Code
	}{
		"BeforeTheDeadline": {io.ErrUnexpectedEOF, core.CodeInvalidPayload},
		"AtTheDeadline":     {os.ErrDeadlineExceeded, core.CodeRequestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(tt.err))
			request.Header.Set("Content-Type", "application/json")
			if _, _, err := readJSON(request); !core.HasCode(err, tt.code) {
				t.Errorf("ReadJSON = %v, want %s", err, tt.code)
			}
		})
	}
}
