package api

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/docs"
)

// The types are the model of the existing command line client: all that it reads, and no more. A pointer may be null
// and nothing else may; words names the vocabulary of a member. The guide docs/guides/v1.md is this in words.
type (
	v1User struct {
		Email    string `json:"email"`
		Name     string `json:"name"`
		Username string `json:"username"`
	}
	v1List[T any] struct {
		Next     *string `json:"next"`
		Previous *string `json:"previous"`
		Results  []T     `json:"results"`
	}
	v1Org struct {
		ID   uuid.UUID `json:"id"`
		Slug string    `json:"slug"`
		Name string    `json:"name"`
	}
	v1Workflow struct {
		ID          uuid.UUID        `json:"id"`
		Slug        string           `json:"slug"`
		Name        string           `json:"name"`
		Description string           `json:"description"`
		Version     int              `json:"version"`
		OrgSlug     string           `json:"org_slug"`
		IsActive    bool             `json:"is_active"`
		Steps       []v1WorkflowStep `json:"steps"`
		Constants   []v1Constant     `json:"constants"`
		CreatedAt   *time.Time       `json:"created_at"`
		UpdatedAt   *time.Time       `json:"updated_at"`
	}
	v1WorkflowStep struct {
		ID            string `json:"id"`
		Name          string `json:"name"`
		ValidatorType string `json:"validator_type" words:"kind"`
		Order         int    `json:"order"`
	}
	v1Constant struct {
		Name string `json:"name"`
	}
	v1Run struct {
		ID                uuid.UUID   `json:"id"`
		Workflow          uuid.UUID   `json:"workflow"`
		WorkflowSlug      string      `json:"workflow_slug"`
		Submission        uuid.UUID   `json:"submission"`
		Org               string      `json:"org"`
		Source            string      `json:"source" words:"source"`
		State             string      `json:"state" words:"state"`
		Result            string      `json:"result" words:"result"`
		Status            string      `json:"status" words:"run status"`
		Error             string      `json:"error"`
		ErrorCategory     string      `json:"error_category" words:"category"`
		UserFriendlyError string      `json:"user_friendly_error"`
		DurationMS        int         `json:"duration_ms"`
		Steps             []v1StepRun `json:"steps"`
		StartedAt         *time.Time  `json:"started_at"`
		EndedAt           *time.Time  `json:"ended_at"`
	}
	v1StepRun struct {
		StepID string    `json:"step_id"`
		Name   string    `json:"name"`
		Status string    `json:"status" words:"step status"`
		Error  string    `json:"error"`
		Issues []v1Issue `json:"issues"`
	}
	v1Issue struct {
		ID          uuid.UUID `json:"id"`
		Severity    string    `json:"severity" words:"severity"`
		Code        string    `json:"code"`
		Message     string    `json:"message"`
		Path        string    `json:"path"`
		AssertionID *string   `json:"assertion_id"`
	}
)

// v1Words are all the words of a vocabulary that the client knows; others end it with a traceback.
func v1Words(vocabulary string) []string {
	words := map[string]string{
		"kind":        "energyplus http json_schema rules table xml",
		"source":      "API DASHBOARD CLI",
		"state":       "PENDING RUNNING COMPLETED",
		"result":      "UNKNOWN PASS FAIL ERROR CANCELED TIMED_OUT",
		"category":    " VALIDATION_FAILED TIMEOUT RUNTIME_ERROR SYSTEM_ERROR",
		"severity":    "ERROR WARNING INFO",
		"run status":  "PENDING RUNNING SUCCEEDED FAILED CANCELED TIMED_OUT",
		"step status": "PENDING RUNNING PASSED FAILED SKIPPED",
	}
	return strings.Split(words[vocabulary], " ")
}

// readV1 reads an answer as the existing client does, which ends with a traceback where a value is not in its model.
func readV1[T any](tb testing.TB, request string, body []byte) T {
	tb.Helper()
	var raw any
	var model T
	if err := json.Unmarshal(body, &raw); err != nil {
		tb.Fatalf("%s = %s, want JSON: %v", request, body, err)
	}
	if faults := nonconforming(reflect.TypeFor[T](), raw, "answer"); len(faults) > 0 {
		tb.Fatalf("%s = %s, and the existing client refuses it: %s", request, body, strings.Join(faults, "; "))
	}
	if err := json.Unmarshal(body, &model); err != nil {
		tb.Fatalf("%s = %s, and the existing client refuses it: %v", request, body, err)
	}
	return model
}

// nonconforming lists where a value is not of the model: what is missing, what is null and may not be, what is an empty
// text and should be null, and words that are not known. The types of scalars are left to the decoder.
func nonconforming(model reflect.Type, value any, where string) []string {
	if model.Kind() == reflect.Slice {
		list, ok := value.([]any)
		if !ok {
			return []string{fmt.Sprintf("%s is %v and no list", where, value)}
		}
		var faults []string
		for i, item := range list {
			faults = append(faults, nonconforming(model.Elem(), item, fmt.Sprintf("%s[%d]", where, i))...)
		}
		return faults
	}
	if model.Kind() != reflect.Struct {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s is %v and no object", where, value)}
	}
	var faults []string
	for _, field := range reflect.VisibleFields(model) {
		name := field.Tag.Get("json")
		member, there := object[name]
		if !there {
			faults = append(faults, fmt.Sprintf("%s.%s is missing", where, name))
			continue
		}
		faults = append(faults, nonconformingMember(field, member, where+"."+name)...)
	}
	return faults
}

func nonconformingMember(field reflect.StructField, member any, where string) []string {
	optional := field.Type.Kind() == reflect.Pointer
	vocabulary, enumerated := field.Tag.Lookup("words")
	text, isText := member.(string)
	switch {
	case member == nil && !optional:
		return []string{where + " is null"}
	case optional && isText && text == "":
		return []string{where + " is an empty text and not null"}
	case enumerated && (!isText || !slices.Contains(v1Words(vocabulary), text)):
		return []string{fmt.Sprintf("%s is %v, which is no %s", where, member, vocabulary)}
	case optional:
		return nil
	default:
		return nonconforming(field.Type, member, where)
	}
}

// TestV1Guide makes sure that the guide lists every member that the client reads, with its words and its null.
func TestV1Guide(t *testing.T) {
	t.Parallel()
	page, found := docs.Page("guides/v1")
	if !found {
		t.Fatal("there is no guide")
	}
	sections := map[string]string{}
	for section := range strings.SplitSeq("\n"+string(page), "\n#") {
		title, text, _ := strings.Cut(section, "\n")
		sections[strings.TrimLeft(title, "# ")] = text
	}
	for title, model := range map[string]reflect.Type{
		"User": reflect.TypeFor[v1User](), "Lists": reflect.TypeFor[v1List[v1Org]](),
		"Organization": reflect.TypeFor[v1Org](), "Workflow": reflect.TypeFor[v1Workflow](),
		"Step of a workflow": reflect.TypeFor[v1WorkflowStep](), "Run": reflect.TypeFor[v1Run](),
		"Step of a run": reflect.TypeFor[v1StepRun](), "Issue": reflect.TypeFor[v1Issue](),
	} {
		for _, field := range reflect.VisibleFields(model) {
			name := field.Tag.Get("json")
			_, rest, found := strings.Cut(sections[title], "\n| `"+name+"` | ")
			row, _, _ := strings.Cut(rest, "\n")
			if !found {
				t.Errorf("the guide does not list %s of %s", name, title)
				continue
			}
			typed, _, _ := strings.Cut(row, " |")
			if optional := field.Type.Kind() == reflect.Pointer; optional != strings.HasSuffix(typed, " or null") {
				t.Errorf("%s of %s is %q in the guide, want it null = %t", name, title, typed, optional)
			}
			for _, word := range v1Words(field.Tag.Get("words")) {
				if word != "" && !strings.Contains(row, "`"+word+"`") {
					t.Errorf("the guide does not list %s as %s of %s", word, name, title)
				}
			}
		}
	}
}
