package core_test

import (
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestPageQuery(t *testing.T) {
	t.Parallel()
	encode := func(direction byte, id uuid.UUID) string {
		return base64.RawURLEncoding.EncodeToString(append([]byte{direction}, id[:]...))
	}
	id := uuid.MustParse("0190a000-0000-7000-8000-000000000001")
	for _, tt := range []struct {
		name  string
		query core.PageQuery
		want  core.Cursor
	}{
		{"Nothing", core.PageQuery{}, core.Cursor{Size: core.DefaultPageSize}},
		{"Least", core.PageQuery{Size: "1"}, core.Cursor{Size: 1}},
		{"Most", core.PageQuery{Size: "200"}, core.Cursor{Size: core.MaxPageSize}},
		{"Forward", core.PageQuery{Cursor: encode('n', id)}, core.Cursor{ID: id, Size: 50}},
		{"Backward", core.PageQuery{Cursor: encode('p', id)}, core.Cursor{ID: id, Size: 50, Backward: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.query.Parse()
			if err != nil || got != tt.want {
				t.Errorf("Parse = %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	for name, query := range map[string]core.PageQuery{
		"SizeZero": {Size: "0"}, "SizeTooLarge": {Size: "201"}, "SizeNegative": {Size: "-1"},
		"SizeNoNumber":  {Size: "ten"},
		"SizeBeyondInt": {Size: strings.Repeat("9", 30)}, "CursorNoBase64": {Cursor: "!"},
		"CursorTooShort": {Cursor: encode('n', id)[:20]}, "CursorTooLong": {Cursor: encode('n', id) + "AAAA"},
		"CursorOfNoDirection": {Cursor: encode('x', id)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := query.Parse()
			if !errors.Is(err, api.CodeInvalidParameter) {
				t.Errorf("Parse = %v, want %s", err, api.CodeInvalidParameter)
			}
		})
	}
}

// list answers as a database would: the rows beside the cursor and one more, in the order that they are read in.
func list(newestFirst []uuid.UUID, cursor core.Cursor) []uuid.UUID {
	rows := slices.Clone(newestFirst)
	if cursor.Backward {
		slices.Reverse(rows)
	}
	if cursor.ID != uuid.Nil {
		rows = rows[slices.Index(rows, cursor.ID)+1:]
	}
	return rows[:min(len(rows), cursor.Size+1)]
}

func TestPagesCoverTheListInBothDirections(t *testing.T) {
	t.Parallel()
	self := func(id uuid.UUID) uuid.UUID { return id }
	address := url.URL{Path: "/api/runs/", RawQuery: "state=PENDING&page_size=7"}
	for total := range 23 {
		newestFirst := make([]uuid.UUID, total)
		for i := range newestFirst {
			newestFirst[i] = uuid.UUID{15: byte(total - i)}
		}
		turn := func(link api.Optional) api.Page[uuid.UUID] {
			query := core.PageQuery{Size: "7"}
			if link != "" {
				next, err := url.Parse(string(link))
				if err != nil || next.Path != address.Path || next.Query().Get("state") != "PENDING" {
					t.Fatalf("link = %q, %v, want the list's address with its filter", link, err)
				}
				query.Cursor = next.Query().Get("cursor")
			}
			cursor, err := query.Parse()
			if err != nil {
				t.Fatalf("parse the cursor of %q: %v", link, err)
			}
			return core.NewPage(cursor, list(newestFirst, cursor), uuid.Nil, self, address)
		}
		page := turn("")
		if page.Previous != "" {
			t.Errorf("previous of the first of %d = %q, want none", total, page.Previous)
		}
		forward := slices.Clone(page.Results)
		for page.Next != "" {
			page = turn(page.Next)
			forward = append(forward, page.Results...)
		}
		if diff := cmp.Diff(newestFirst, forward); diff != "" {
			t.Errorf("forward over %d (-want +got):\n%s", total, diff)
		}
		backward := slices.Clone(page.Results)
		for page.Previous != "" {
			page = turn(page.Previous)
			backward = append(slices.Clone(page.Results), backward...)
		}
		if diff := cmp.Diff(newestFirst, backward); diff != "" {
			t.Errorf("backward over %d (-want +got):\n%s", total, diff)
		}
	}
}

func TestMapPageKeepsTheLinks(t *testing.T) {
	t.Parallel()
	page := api.Page[int]{Next: "n", Previous: "p", Results: []int{1, 2}}
	got := core.MapPage(page, func(n int) string { return strings.Repeat("x", n) })
	want := api.Page[string]{Next: "n", Previous: "p", Results: []string{"x", "xx"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	if empty := core.MapPage(api.Page[int]{}, func(int) int { return 0 }); empty.Results == nil {
		t.Error("results of an empty page are null, want an empty list")
	}
}
