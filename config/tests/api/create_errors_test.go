package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// badBody is a body that is refused, with the places at fault.
type badBody struct {
	name, body string
	pointers   string
}

func badDefinitions() []badBody {
	wrap := func(definition string) string { return drafted("bad", definition) }
	step := func(members string) string {
		return wrap(`{"accepts":["text/csv"],"steps":[` + members + `]}`)
	}
	good := `{"id":"a","name":"A","type":"json_schema","config":{"schema":{}}}`
	return []badBody{
		{"DefinitionEmpty", wrap(`{}`), "/definition/accepts"},
		{"DefinitionNull", wrap(`null`), "/definition/accepts"},
		{"DefinitionNoObject", wrap(`"all"`), "/definition"},
		{"AcceptsNothing", wrap(`{"accepts":[]}`), "/definition/accepts"},
		{"AcceptsNoType", wrap(`{"accepts":["csv"]}`), "/definition/accepts/0"},
		{"AcceptsParameters", wrap(`{"accepts":["text/csv","text/csv;charset=utf-8"]}`), "/definition/accepts/1"},
		{"AcceptsCapitals", wrap(`{"accepts":["Text/CSV"]}`), "/definition/accepts/0"},
		{"DefinitionMemberUnknown", wrap(`{"accepts":["text/csv"],"stages":[]}`), "/definition/stages"},
		{"StepMemberUnknown", step(`{"id":"a","kind":"table"}`), "/definition/steps/0/kind"},
		{"StepMemberOfOtherCase", step(`{"ID":"a"}`), "/definition/steps/0/ID"},
		{
			"StepEmpty", step(good + `,{}`), "/definition/steps/1/config /definition/steps/1/id " +
				"/definition/steps/1/name /definition/steps/1/type",
		},
		{"StepsOfOneID", step(good + `,` + good), "/definition/steps/1/id"},
		{"StepsTooMany", step(strings.Repeat(good+",", 50) + good), "/definition/steps"},
		{"StepNameWithNUL", step(strings.Replace(good, `"A"`, `"\u0000"`, 1)), "/definition/steps/0/name"},
		{"StepOfWrongType", step(`{"id":7}`), "/definition/steps/0/id"},
		{"StepOfUnknownType", step(strings.Replace(good, "json_schema", "magic", 1)), "/definition/steps/0/type"},
		{
			"ConfigMemberUnknown", step(strings.Replace(good, `{}}`, `{},"mode":1}`, 1)),
			"/definition/steps/0/config/mode",
		},
		{
			"ConfigDoesNotCompile", step(strings.Replace(good, `{}}`, `{"type":"nothing"}}`, 1)),
			"/definition/steps/0/config/schema/type",
		},
		{"ConfigNull", step(strings.Replace(good, `{"schema":{}}`, `null`, 1)), "/definition/steps/0/config/schema"},
		{"DuplicateMember", step(`{"id":"a","id":"b"}`), "/definition/steps/0/id"},
		{"CutOff", strings.TrimSuffix(step(good), "}"), ""},
		{"TwoValues", step(good) + "{}", ""},
		{"NoJSON", "slug: a", ""},
		{"NotUTF8", wrap("{\"accepts\":[\"text/\xff\"]}"), "/definition/accepts/0"},
		{"TooDeep", step(strings.Replace(good, `{}}`, strings.Repeat(`[`, 200)+strings.Repeat(`]`, 200)+`}`, 1)), ""},
		{"Nothing", "", ""},
	}
}

func TestCreateWorkflowRefusesBodies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	of := func(members string) string { return `{` + members + `,"definition":` + requiring("site") + `}` }
	tests := append(badDefinitions(),
		badBody{"Null", "null", ""},
		badBody{"List", "[]", ""},
		badBody{"NothingButTheDefinition", versionBody("site"), "/name /slug"},
		badBody{"SlugTaken", drafted("building", requiring("site")), "/slug"},
		badBody{"SlugWithCapitals", drafted("Site", requiring("site")), "/slug"},
		badBody{"SlugWithHyphenFirst", drafted("-site", requiring("site")), "/slug"},
		badBody{"SlugWithLineBehind", drafted(`site\n`, requiring("site")), "/slug"},
		badBody{"SlugTooLong", drafted(strings.Repeat("s", 64), requiring("site")), "/slug"},
		badBody{"SlugWithNUL", drafted(`s\u0000`, requiring("site")), "/slug"},
		badBody{"SlugLikeAnID", drafted(unknownID, requiring("site")), "/slug"},
		badBody{"NameTooLong", of(`"slug":"bad","name":"` + strings.Repeat("ä", 201) + `"`), "/name"},
		badBody{"NameWithNUL", of(`"slug":"bad","name":"a\u0000"`), "/name"},
		badBody{"DescriptionWithNUL", of(`"slug":"bad","name":"a","description":"\u0000"`), "/description"},
		badBody{"MemberUnknown", of(`"slug":"bad","name":"a","org_id":"` + s.Tiny.ID.String() + `"`), "/org_id"},
		badBody{"MemberTwice", of(`"slug":"bad","name":"a","slug":"b"`), "/slug"},
		badBody{"MemberOfWrongType", of(`"slug":"bad","name":"a","is_active":"yes"`), "/is_active"},
	)
	s.wantBodiesRefused(t, tests, func(key string) call { return s.creation(key, "") })
}

func TestCreateVersionRefusesBodies(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.wantBodiesRefused(t, []badBody{
		{"Null", "null", ""},
		{"DefinitionEmpty", `{"definition":{}}`, "/definition/accepts"},
		{"MembersOfTheWorkflow", drafted("site", requiring("site")), "/slug"},
	}, func(key string) call { return s.versionOf(key, "/api/workflows/building/") })
}

// wantBodiesRefused checks that each body is refused at the places it names and leaves nothing behind.
func (s *stage) wantBodiesRefused(t *testing.T, tests []badBody, keyed func(key string) call) {
	t.Helper()
	before := s.tally(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := s.Do(t, keyed(tt.name).WithBody("application/json", tt.body))
			problem := fixture.WantProblem(t, got, api.CodeInvalidPayload)
			var pointers []string
			for _, field := range problem.Errors {
				pointers = append(pointers, field.Pointer)
			}
			slices.Sort(pointers)
			if places := strings.Join(pointers, " "); places != tt.pointers {
				t.Errorf("pointers = %q, want %q; %s", places, tt.pointers, got.Body)
			}
			fixture.WantHeader(t, got,
				map[string]string{"Location": "", "Idempotency-Expires": "", "Idempotency-Key": tt.name})
			if after := s.tally(t); after != before {
				t.Errorf("rows = %s, want %s", after, before)
			}
		})
	}
}
