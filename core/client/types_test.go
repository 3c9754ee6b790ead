package client_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/core/client"
)

// contract is what the types have to be in step with.
type contract struct {
	Components struct {
		Schemas map[string]struct {
			Properties map[string]yaml.Node `yaml:"properties"`
			Enum       []string             `yaml:"enum"`
		} `yaml:"schemas"`
	} `yaml:"components"`
}

func readContract(tb testing.TB) contract {
	tb.Helper()
	text, err := os.ReadFile("../../docs/openapi.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var c contract
	if err := yaml.Unmarshal(text, &c); err != nil {
		tb.Fatal(err)
	}
	return c
}

// members lists what a struct is read from.
func members(shape reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(shape) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func TestTypesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	schemas := readContract(t).Components.Schemas
	for name, value := range map[string]any{
		"Run": client.Run{}, "Counts": client.Counts{}, "Step": client.Step{}, "Issue": client.Issue{},
		"Finding": client.Finding{}, "Workflow": client.Workflow{}, "WorkflowStep": client.WorkflowStep{},
		"WorkflowImport": client.WorkflowImport{}, "Me": client.Me{}, "Organization": client.Organization{},
		"OrganizationSettings": client.OrganizationSettings{}, "OrganizationChange": client.OrganizationChange{},
		"Usage": client.Usage{}, "DayUsage": client.DayUsage{}, "WorkflowUsage": client.WorkflowUsage{},
		"Readiness": client.Readiness{}, "Problem": client.Problem{}, "FieldError": client.FieldError{},
		"Token": client.Token{}, "TokenSecret": client.TokenSecret{}, "TokenDraft": client.TokenDraft{},
		"TokenRotation": client.TokenRotation{}, "Member": client.Member{}, "MemberDraft": client.MemberDraft{},
		"Invitation": client.Invitation{}, "InvitationLink": client.InvitationLink{},
		"MemberChange": client.MemberChange{}, "AuditRecord": client.AuditRecord{},
		"LoggedRequest": client.LoggedRequest{}, "LoggedRequestDetail": client.LoggedRequestDetail{},
		"LoggedHeader": client.LoggedHeader{},
	} {
		want := slices.Sorted(maps.Keys(schemas[name].Properties))
		if diff := cmp.Diff(want, members(reflect.TypeOf(value))); diff != "" {
			t.Errorf("%s (-contract +type):\n%s", name, diff)
		}
	}
	for name, want := range map[string][]string{
		"RunState": {string(client.StatePending), string(client.StateRunning), string(client.StateCompleted)},
		"RunResult": {
			string(client.ResultUnknown), string(client.ResultPass), string(client.ResultFail),
			string(client.ResultError), string(client.ResultCanceled), string(client.ResultTimedOut),
		},
		"StepStatus": {
			string(client.StepPending), string(client.StepRunning), string(client.StepPassed),
			string(client.StepFailed), string(client.StepSkipped),
		},
		"Severity": {
			string(client.SeverityError), string(client.SeverityWarning), string(client.SeverityInfo),
		},
	} {
		if diff := cmp.Diff(schemas[name].Enum, want); diff != "" {
			t.Errorf("%s (-contract +constants):\n%s", name, diff)
		}
	}
}

// TestCodesExist looks for codes that no service answers with.
func TestCodesExist(t *testing.T) {
	t.Parallel()
	known := readContract(t).Components.Schemas["ErrorCode"].Enum
	for _, code := range []client.CodeError{
		client.ErrInvalidPayload, client.ErrInvalidParameter, client.ErrKeyTooLong, client.ErrKeyInvalid,
		client.ErrKeyRequired, client.ErrInProgress, client.ErrKeyReused, client.ErrNotAuthenticated,
		client.ErrPaymentRequired, client.ErrPermissionDenied, client.ErrNotFound, client.ErrPayloadTooLarge,
		client.ErrUnsupportedMediaType, client.ErrWorkflowInactive, client.ErrWorkflowHasNoSteps,
		client.ErrDocumentGone, client.ErrRunCompleted, client.ErrRunReserved, client.ErrQuotaExceeded,
		client.ErrRateLimited, client.ErrUnavailable, client.ErrOutcomeUnknown, client.ErrLastOwner,
		client.ErrTokenNotRotatable, client.ErrRequestTimeout, client.ErrInternal, client.ErrOrganizationSuspended,
	} {
		if !slices.Contains(known, string(code)) {
			t.Errorf("code = %s, want one of the contract", code)
		}
	}
}

func TestTime(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`null`, `"2026-03-01T09:15:04.128Z"`} {
		var at client.Time
		if err := json.Unmarshal([]byte(text), &at); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(at)
		if err != nil || string(again) != text || at.IsZero() != (text == `null`) {
			t.Errorf("time = %s (zero %t) and error %v, want %s", again, at.IsZero(), err, text)
		}
	}
	for _, text := range []string{`"soon"`, `""`} {
		var at client.Time
		if err := json.Unmarshal([]byte(text), &at); err == nil {
			t.Errorf("error = nil for %s, which is not a time, want one", text)
		}
	}
}
