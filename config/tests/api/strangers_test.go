package api

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// namesOfHarbour are the ids of all that harbour has, in every table, and its names.
func (s *stage) namesOfHarbour(tb testing.TB) []string {
	tb.Helper()
	names := []string{"accessible", "meter-readings", s.Harbour.Slug}
	for _, table := range coretest.One[[]string](tb, s.DB, `SELECT array_agg(table_name::text)
		FROM information_schema.columns AS id JOIN information_schema.columns AS org USING (table_schema, table_name)
		WHERE table_schema = 'public' AND id.column_name = 'id' AND id.data_type = 'uuid'
			AND org.column_name = 'org_id'`) {
		names = append(names, coretest.One[[]string](tb, s.DB,
			`SELECT coalesce(array_agg(id::text), '{}') FROM `+table+` WHERE org_id = $1`, s.Harbour.ID)...)
	}
	return names
}

// Every filter of every list finds as little by what another organization has as by what there is nowhere.
func TestFiltersFindNothingOfOtherOrganizations(t *testing.T) {
	t.Parallel()
	s := setup(t)
	table := s.accessTable(t)
	agreed, err := fixture.LoadContract()
	if err != nil {
		t.Fatal(err)
	}
	theirs, ghosts := s.namesOfHarbour(t), []string{"nobodys", uuid.Must(uuid.NewV7()).String()}
	for name, row := range table {
		path := strings.TrimPrefix(name, "GET ")
		if path == name || strings.Contains(path, ":") {
			continue
		}
		list := row.Call.By(s.Tiny.Tokens.Owner).With("Request-Id", "same")
		for _, parameter := range agreed.Document.Paths.Find(path).Get.Parameters {
			ask := func(value string) string {
				got := s.Do(t, list.To(path+"?"+parameter.Value.Name+"="+url.QueryEscape(value)))
				return strings.ReplaceAll(string(got.Body), value, "")
			}
			nothing := []string{ask(ghosts[0]), ask(ghosts[1])}
			for _, value := range theirs {
				if got := ask(value); !slices.Contains(nothing, got) {
					t.Errorf("%s?%s=%s shows another organization %s, want %s", path, parameter.Value.Name, value, got,
						nothing)
				}
			}
		}
	}
}

// What a body may not set is refused, whoever sends it and whatever the rest of it is.
func TestEveryBodyRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	s := setup(t)
	bodies := 0
	for name, row := range s.accessTable(t) {
		if !strings.HasPrefix(row.Call.Body, "{") {
			continue
		}
		bodies++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, member := range []string{"org_id", "id", "state", "created_at", "Role"} {
				sent := row.Call.As(api.RoleOwner).By(s.Harbour.Tokens.Owner)
				more := `{"` + member + `":"` + s.Tiny.ID.String() + `",`
				sent.Body = strings.Replace(strings.Replace(sent.Body, "{", more, 1), ",}", "}", 1)
				s.Refused(t, api.CodeInvalidPayload, sent)
			}
		})
	}
	if bodies == 0 {
		t.Error("no route takes a body")
	}
}
