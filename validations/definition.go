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

// Definition is what a version of a workflow does: which documents it takes and the steps it checks
// them with. It is stored once per organization under the digest of its bytes.
type Definition struct {
	// Accepts lists media types as type/subtype.
	Accepts []string `json:"accepts" validate:"required,min=1,max=20"`
	Steps   []Step   `json:"steps"   validate:"max=50,unique=ID,dive"`
	// TimeoutSeconds bounds a run from its first step on; 0 is the operator's limit, which no definition extends.
	TimeoutSeconds int `json:"timeout_seconds,omitempty" validate:"min=0,max=86400"`
}

// Step is one validator with its configuration.
type Step struct {
	// ID names the step in runs; it is unique within the definition and stays across versions.
	ID                string          `json:"id"                  validate:"required,max=100,excludesrune=\x00"`
	Name              string          `json:"name"                validate:"required,max=200,excludesrune=\x00"`
	Type              string          `json:"type"                validate:"required"`
	Config            json.RawMessage `json:"config"              validate:"required"`
	ContinueOnFailure bool            `json:"continue_on_failure"`
	// TimeoutSeconds bounds the step; 0 is the operator's limit, which no definition extends.
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
	// Strings have one spelling, so that a definition has the same digest in whatever file it is carried.
	text := jsontext.Value(body)
	if err := text.Format(); err != nil {
		return nil, Digest{}, fmt.Errorf("encode a definition: %w", err)
	}
	return text, sha256.Sum256(text), nil
}

// Takes reports whether the definition accepts documents of the media type, by whichever of its names. Parameters are
// ignored.
func (d Definition) Takes(mediaType string) bool {
	_, taken := mediatype.Choose(d.Accepts, []string{baseType(mediaType)})
	return taken
}

// Check tries every step and returns what is wrong with their configurations and with the media types,
// with pointers into the definition. The error means that a step could not be tried.
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
	for i, step := range d.Steps {
		faults, err := engines.Check(ctx, step.Type, step.Config, engines.DefaultLimits())
		if err != nil {
			return nil, fmt.Errorf("try step %d (%s): %w", i, step.Name, err)
		}
		for _, problem := range faults {
			place := "config"
			if problem.Code == engines.CodeUnknownKind {
				place = "type"
			}
			problem.Pointer = fmt.Sprintf("/steps/%d/%s%s", i, place, problem.Pointer)
			problems = append(problems, problem)
		}
	}
	return problems, nil
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

// isMediaType reports whether a document can have the media type as Takes compares it: any other would never match.
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
