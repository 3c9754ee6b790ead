package core_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

type checkedItem struct {
	Name string `json:"name" validate:"required"`
}

type checkedBody struct {
	Title  string        `json:"title"  validate:"required,max=5"`
	Count  int           `json:"count"  validate:"min=1,max=9"`
	Kind   string        `json:"kind"   validate:"omitempty,oneof=a b"`
	ID     string        `json:"id"     validate:"omitempty,uuid"`
	Items  []checkedItem `json:"items"  validate:"dive"`
	Inside checkedItem   `json:"inside"`
	Text   string        `json:"text"   validate:"excludesrune=\x00"`
	Email  string        `json:"email"  validate:"omitempty,email"`
	Until  string        `json:"until"  validate:"omitempty,datetime=2006-01-02T15:04:05Z07:00"`
}

type checkedQuery struct {
	Size int    `query:"size" validate:"omitempty,gt=0"`
	Sort string `query:"sort" validate:"omitempty,alpha"`
}

func TestValidatorBody(t *testing.T) {
	t.Parallel()
	check := core.NewValidator()
	good := checkedBody{Title: "ok", Count: 1, Items: []checkedItem{{"x"}}, Inside: checkedItem{"y"}}
	if err := check.Body(good); err != nil {
		t.Errorf("Body of a good body = %v, want nil", err)
	}
	bad := checkedBody{Title: "too long", Kind: "c", ID: "1", Items: []checkedItem{{"x"}, {}}, Text: "a\x00"}
	bad.Email, bad.Until = "kim", "noon"
	err := check.Body(bad)
	clientErr, ok := errors.AsType[*core.Error](err)
	if !ok || clientErr.Code != api.CodeInvalidPayload {
		t.Fatalf("Body = %v, want %s", err, api.CodeInvalidPayload)
	}
	want := []api.FieldError{
		{Pointer: "/title", Code: "max", Detail: "must have at most 5 characters"},
		{Pointer: "/count", Code: "min", Detail: "must be at least 1"},
		{Pointer: "/kind", Code: "oneof", Detail: "must be one of a, b"},
		{Pointer: "/id", Code: "uuid", Detail: "must be a UUID"},
		{Pointer: "/items/1/name", Code: "required", Detail: "must be given"},
		{Pointer: "/inside/name", Code: "required", Detail: "must be given"},
		{Pointer: "/text", Code: "excludesrune", Detail: `must not have the character "\x00"`},
		{Pointer: "/email", Code: "email", Detail: "must be an e-mail address"},
		{Pointer: "/until", Code: "datetime", Detail: "must be a time as in RFC 3339, like 2026-03-01T00:00:00Z"},
	}
	if diff := cmp.Diff(want, clientErr.Fields); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestValidatorRefusesWhatIsNoStruct(t *testing.T) {
	t.Parallel()
	err := core.NewValidator().Body("text")
	if err == nil || errors.Is(err, api.CodeInvalidPayload) {
		t.Errorf("Body of no struct = %v, want an error that is not the client's", err)
	}
}

func TestBindQuery(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, query string
		want        checkedQuery
		parameters  []string
		detail      string
	}{
		{"Nothing", "", checkedQuery{}, nil, ""},
		{"Both", "size=3&sort=abc", checkedQuery{Size: 3, Sort: "abc"}, nil, ""},
		{"Unknown", "other=1", checkedQuery{}, nil, ""},
		{"OneWrong", "size=-1", checkedQuery{}, []string{"size"}, "size must be more than 0."},
		{
			"BothWrong", "size=-1&sort=1",
			checkedQuery{},
			[]string{"size", "sort"},
			"The query breaks 2 rules; errors lists them.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got checkedQuery
			err := bindQuery(t, tt.query, &got)
			clientErr, _ := errors.AsType[*core.Error](err)
			if tt.parameters == nil {
				if err != nil || got != tt.want {
					t.Errorf("BindQuery = %+v, %v, want %+v", got, err, tt.want)
				}
				return
			}
			if clientErr == nil || clientErr.Code != api.CodeInvalidParameter {
				t.Fatalf("BindQuery = %v, want %s", err, api.CodeInvalidParameter)
			}
			var parameters []string
			for _, field := range clientErr.Fields {
				parameters = append(parameters, field.Parameter)
			}
			if diff := cmp.Diff(tt.parameters, parameters); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
			if clientErr.Detail != tt.detail {
				t.Errorf("detail = %q, want %q", clientErr.Detail, tt.detail)
			}
		})
	}
	t.Run("WrongType", func(t *testing.T) {
		t.Parallel()
		var got checkedQuery
		if err := bindQuery(t, "size=x", &got); !errors.Is(err, api.CodeInvalidParameter) {
			t.Errorf("BindQuery = %v, want %s", err, api.CodeInvalidParameter)
		}
	})
}

func bindQuery(tb testing.TB, query string, into *checkedQuery) error {
	tb.Helper()
	request := httptest.NewRequestWithContext(tb.Context(), http.MethodGet, "/?"+query, http.NoBody)
	return core.BindQuery(echo.New().NewContext(request, httptest.NewRecorder()), core.NewValidator(), into)
}
