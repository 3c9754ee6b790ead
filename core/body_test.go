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
	"github.com/simplevalidations/simplevalidations/core/api"
)

type readBody struct {
	Name  string     `json:"name"  validate:"required"`
	Count int        `json:"count"`
	Items []readItem `json:"items" validate:"dive"`
	Last  bool       `json:"last"`
	Owner struct {
		ID     string `json:"id"`
		Hidden string `json:"-"`
	} `json:"owner"`
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
		pointer string
		detail  string
	}{
		"Empty":         {"", "", "The body is not well-formed JSON."},
		"CutOff":        {`{"name":"a"`, "", "The body is not well-formed JSON."},
		"TwoValues":     {`{"name":"a"}{}`, "", "The body is not well-formed JSON."},
		"OtherValue":    {`["a"]`, "", "The body must be an object."},
		"Null":          {`null`, "", "The body must be an object."},
		"RuleBroken":    {`{"count":1}`, "/name", "name must be given."},
		"RuleBrokenIn":  {`{"name":"a","items":[{}]}`, "/items/0/id", "items/0/id must be given."},
		"UnknownMember": {`{"name":"a","nick":"b"}`, "/nick", "nick is not a known member."},
		"UnknownInside": {
			`{"name":"a","items":[{"a~/b":1}]}`, "/items/0/a~0~1b", "items/0/a~0~1b is not a known member.",
		},
		"UnknownHere":     {`{"name":"a","id":1}`, "/id", "id is not a known member here: it belongs in owner."},
		"UnnamedNowhere":  {`{"name":"a","":1}`, "/", " is not a known member."},
		"HiddenNowhere":   {`{"name":"a","-":1}`, "/-", "- is not a known member."},
		"OtherCase":       {`{"Name":"a"}`, "/Name", "Name is not a known member."},
		"DuplicateMember": {`{"name":"a","name":"b"}`, "/name", "name is duplicated."},
		"DuplicateByCode": {`{"name":"a","n\u0061me":"b"}`, "/name", "name is duplicated."},
		"WrongType":       {`{"name":"a","count":"1"}`, "/count", "count must be a whole number."},
		"NotAString":      {`{"name":1}`, "/name", "name must be a string."},
		"NotAnArray":      {`{"name":"a","items":{}}`, "/items", "items must be an array."},
		"NotAnObject":     {`{"name":"a","items":[1]}`, "/items/0", "items/0 must be an object."},
		"NotABoolean":     {`{"name":"a","last":0}`, "/last", "last must be true or false."},
		"NumberTooLarge":  {`{"name":"a","count":99999999999999999999}`, "/count", "count is out of range."},
		"Fraction":        {`{"name":"a","count":1.5}`, "/count", "count must be a whole number."},
		"BadUTF8":         {"{\"name\":\"\xff\"}", "/name", "name is not well-formed JSON."},
		"LoneSurrogate":   {`{"name":"\ud800"}`, "/name", "name is not well-formed JSON."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readJSON(bodyRequest("application/json", tt.body))
			clientErr, ok := errors.AsType[*core.Error](err)
			if !ok || clientErr.Code != api.CodeInvalidPayload {
				t.Fatalf("ReadJSON = %v, want %s", err, api.CodeInvalidPayload)
			}
			if clientErr.Detail != tt.detail {
				t.Errorf("detail = %q, want %q", clientErr.Detail, tt.detail)
			}
			if tt.pointer != "" && len(clientErr.Fields) != 1 {
				t.Fatalf("error = %+v, want one place", clientErr)
			}
			if tt.pointer != "" && clientErr.Fields[0].Pointer != tt.pointer {
				t.Errorf("pointer = %q, want %q", clientErr.Fields[0].Pointer, tt.pointer)
			}
		})
	}
}

func TestReadJSONRefusesLargeBodies(t *testing.T) {
	t.Parallel()
	body := `{"name":"` + strings.Repeat("a", bodyLimit-10) + `"}`
	_, _, err := readJSON(bodyRequest("application/json", body))
	if !errors.Is(err, api.CodePayloadTooLarge) {
		t.Errorf("ReadJSON = %v, want %s", err, api.CodePayloadTooLarge)
	}
}

func TestReadJSONRefusesOtherTypes(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{"", "text/plain", "application/problem+json", "application/json; ="} {
		_, _, err := readJSON(bodyRequest(contentType, `{"name":"a"}`))
		if !errors.Is(err, api.CodeUnsupportedMediaType) {
			t.Errorf("ReadJSON of %q = %v, want %s", contentType, err, api.CodeUnsupportedMediaType)
		}
	}
}

func TestReadJSONOfABodyThatBreaksOff(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err  error
		code api.Code
	}{
		"BeforeTheDeadline": {io.ErrUnexpectedEOF, api.CodeInvalidPayload},
		"AtTheDeadline":     {os.ErrDeadlineExceeded, api.CodeRequestTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(tt.err))
			request.Header.Set("Content-Type", "application/json")
			if _, _, err := readJSON(request); !errors.Is(err, tt.code) {
				t.Errorf("ReadJSON = %v, want %s", err, tt.code)
			}
		})
	}
}
