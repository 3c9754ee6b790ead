package validations

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/core/mediatype"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// Definition is the content of a version of a workflow: the documents that it accepts, and the steps that check them.
// It is stored once per organization under the digest of its bytes, and never changes.
type Definition struct {
	// Accepts lists media types as type/subtype.
	Accepts []string `json:"accepts" validate:"required,min=1,max=20"`
	Steps   []Step   `json:"steps"   validate:"max=50,dive"`
	// TimeoutSeconds bounds a run from its first step on. It cannot extend the operator's limit; 0 means that limit.
	TimeoutSeconds int `json:"timeout_seconds,omitempty" validate:"min=0,max=86400"`
}

// Step is one validator with its configuration.
type Step struct {
	// ID names the step in runs. It is unique within the definition and stays the same across versions.
	ID                string          `json:"id"                  validate:"required,max=100,excludesrune=\x00"`
	Name              string          `json:"name"                validate:"required,max=200,excludesrune=\x00"`
	Type              string          `json:"type"                validate:"required"`
	Config            json.RawMessage `json:"config"              validate:"required"`
	ContinueOnFailure bool            `json:"continue_on_failure"`
	// TimeoutSeconds bounds the step. It cannot extend the operator's limit, and 0 means that limit.
	TimeoutSeconds int `json:"timeout_seconds,omitempty" validate:"min=0,max=86400"`
}

// Digest names a definition by its content.
type Digest [sha256.Size]byte

// Encode returns the definition's bytes and their digest.
func (d Definition) Encode() ([]byte, Digest, error) {
	body, err := json.Marshal(d)
	if err != nil {
		return nil, Digest{}, fmt.Errorf("encode a definition: %w", err)
	}
	// Strings are written in one way, so that the digest does not depend on the escapes in the file.
	text := jsontext.Value(body)
	if err := text.Format(); err != nil {
		return nil, Digest{}, fmt.Errorf("encode a definition: %w", err)
	}
	return text, sha256.Sum256(text), nil
}

// Weight is how many bytes of memory the heaviest step needs for a document.
func (d Definition) Weight(mediaType string, size int64) int64 {
	var most int64
	for _, step := range d.Steps {
		most = max(most, engines.Weight(step.Type, mediaType, size))
	}
	return most
}

// Takes reports whether the definition accepts documents of the media type or of one of its aliases. Parameters are
// ignored.
func (d Definition) Takes(mediaType string) bool {
	_, taken := mediatype.Choose(d.Accepts, []string{baseType(mediaType)})
	return taken
}

// Check returns all faults in the media types and in the configurations of the steps, with JSON pointers into the
// definition. The error means that a step could not be checked.
func (d Definition) Check(ctx context.Context) ([]engines.ConfigError, error) {
	var problems []engines.ConfigError
	for i, accepted := range d.Accepts {
		if !isMediaType(accepted) {
			problems = append(problems, engines.ConfigError{
				Pointer: fmt.Sprintf("/accepts/%d", i), Code: "media_type",
				Detail: "must be type/subtype in lower case, without parameters and wildcards",
			})
		}
	}
	first := map[string]int{}
	for i, step := range d.Steps {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("check step %d (%s): %w", i, step.Name, err)
		}
		if earlier, twice := first[step.ID]; twice && step.ID != "" {
			problems = append(problems, engines.ConfigError{
				Pointer: fmt.Sprintf("/steps/%d/id", i), Code: "unique",
				Detail: fmt.Sprintf("must be unique; step %d has the same id", earlier+1),
			})
		} else {
			first[step.ID] = i
		}
		faults, err := step.Check(ctx, i)
		if err != nil {
			return nil, err
		}
		problems = append(problems, faults...)
	}
	return problems, nil
}

// Check returns all faults in the configuration of a step, with JSON pointers into the definition whose step it is.
func (s Step) Check(ctx context.Context, ordinal int) ([]engines.ConfigError, error) {
	faults, err := engines.Check(ctx, s.Type, s.Config, engines.DefaultLimits())
	if err != nil {
		return nil, fmt.Errorf("check step %d (%s): %w", ordinal, s.Name, err)
	}
	for i := range faults {
		member := "config"
		if faults[i].Code == engines.CodeUnknownKind {
			member = "type"
		}
		faults[i].Pointer = fmt.Sprintf("/steps/%d/%s%s", ordinal, member, faults[i].Pointer)
	}
	return faults, nil
}

// Warnings returns the members of the steps that probably do not do what their author wants, with JSON pointers into
// the definition. They are no reason to refuse it.
func (d Definition) Warnings() []engines.ConfigError {
	var all []engines.ConfigError
	for i, step := range d.Steps {
		for _, warning := range engines.Warnings(step.Type, step.Config, engines.DefaultLimits()) {
			warning.Pointer = fmt.Sprintf("/steps/%d/config%s", i, warning.Pointer)
			all = append(all, warning)
		}
	}
	return all
}

// ErrDefinition means that a definition cannot be executed by this release.
var ErrDefinition = errors.New("the definition does not compile")

// Compile returns the engines of the steps, in their order.
func (d Definition) Compile() ([]engines.Engine, error) {
	compiled := make([]engines.Engine, len(d.Steps))
	for i, step := range d.Steps {
		engine, problems := engines.Compile(step.Type, step.Config, engines.DefaultLimits())
		if len(problems) > 0 {
			return nil, fmt.Errorf("step %d (%s): %w: %s %s", i, step.Name, ErrDefinition,
				problems[0].Pointer, problems[0].Detail)
		}
		compiled[i] = engine
	}
	return compiled, nil
}

// isMediaType reports whether the text is a media type that Takes can match.
func isMediaType(text string) bool {
	base, _, err := mime.ParseMediaType(text)
	return err == nil && base == text && strings.Contains(base, "/") && !strings.Contains(base, "*")
}

func decodeDefinition(body []byte) (Definition, error) {
	var definition Definition
	if err := json.Unmarshal(body, &definition); err != nil {
		return Definition{}, fmt.Errorf("read a definition: %w", err)
	}
	return definition, nil
}

func baseType(mediaType string) string {
	base, _, err := mime.ParseMediaType(mediaType)
	if err != nil {
		base, _, _ = strings.Cut(strings.ToLower(mediaType), ";")
	}
	return strings.TrimSpace(base)
}
