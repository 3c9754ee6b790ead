package core

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-playground/validator/v10"

	"github.com/simplevalidations/simplevalidations/core/api"
)

// Validator checks structs by their `validate` tags and reports every broken rule at once.
type Validator struct {
	rules *validator.Validate
}

// NewValidator makes a Validator that names members as clients do: by the json tag for members of a
// body, by the query or form tag for parameters, by the env tag for settings.
func NewValidator() *Validator {
	rules := validator.New(validator.WithRequiredStructEnabled())
	rules.RegisterTagNameFunc(func(field reflect.StructField) string {
		if field.Anonymous {
			return embedded
		}
		for _, tag := range []string{"json", "query", "form", "env"} {
			name, _, _ := strings.Cut(field.Tag.Get(tag), ",")
			if name != "" && name != "-" {
				return name
			}
		}
		return field.Name
	})
	return &Validator{rules: rules}
}

// embedded names a struct whose members are those of the one that it is in.
const embedded = "~"

// fieldPointer turns the path of a field into a JSON pointer.
var fieldPointer = strings.NewReplacer(embedded+".", "", ".", "/", "[", "/", "]", "")

// Fields returns what is wrong with a struct, in the order of its members; nil when nothing is.
func (v *Validator) Fields(value any) ([]api.FieldError, error) {
	err := v.rules.Struct(value)
	if err == nil {
		return nil, nil
	}
	broken, ok := errors.AsType[validator.ValidationErrors](err)
	if !ok {
		return nil, fmt.Errorf("check %T: %w", value, err)
	}
	fields := make([]api.FieldError, len(broken))
	for i, rule := range broken {
		_, member, _ := strings.Cut(rule.Namespace(), ".")
		fields[i] = api.FieldError{
			Pointer: "/" + fieldPointer.Replace(member),
			Code:    rule.Tag(),
			Detail:  explain(rule),
		}
	}
	return fields, nil
}

// Body checks the members of a request body and answers invalid_payload.
func (v *Validator) Body(value any) error {
	fields, err := v.Fields(value)
	if err != nil || fields == nil {
		return err
	}
	return InvalidPayload(summary("The request body", fields), fields...)
}

// Form checks the fields of a page's form and answers invalid_payload, in words for its user.
func (v *Validator) Form(value any) error {
	fields, err := v.Fields(value)
	if err != nil || fields == nil {
		return err
	}
	return InvalidPayload("Please look at "+Plural(len(fields), "field")+" again.", fields...)
}

// Query checks the parameters of a request and answers invalid_parameter.
func (v *Validator) Query(value any) error {
	fields, err := v.Fields(value)
	if err != nil || fields == nil {
		return err
	}
	for i, field := range fields {
		// A parameter is known by its name alone, in whatever struct its rule is.
		fields[i].Parameter, fields[i].Pointer = path.Base(field.Pointer), ""
	}
	clientErr := NewError(api.CodeInvalidParameter, summary("The query", fields))
	clientErr.Fields = fields
	return clientErr
}

// summary says in one sentence what is wrong, for clients that show nothing else.
func summary(what string, fields []api.FieldError) string {
	if len(fields) == 1 && fields[0].Name() != "" {
		return sentence(fields[0])
	}
	return what + " breaks " + Plural(len(fields), "rule") + "; errors lists them."
}

func explain(rule validator.FieldError) string {
	if text, known := plainRules[rule.Tag()]; known {
		return text
	}
	switch rule.Tag() {
	case "min", "gte":
		return bound(rule, "at least ")
	case "max", "lte":
		return bound(rule, "at most ")
	case "oneof":
		return "must be one of " + strings.Join(strings.Fields(rule.Param()), ", ")
	case "unique":
		return "must not have the same " + strings.ToLower(rule.Param()) + " twice"
	case "excludesrune":
		return "must not have the character " + strconv.QuoteToASCII(rule.Param())
	case "eqfield":
		return "must be the same as " + strings.ToLower(rule.Param())
	case "gt":
		return "must be more than " + rule.Param()
	case "required_with":
		return NeededWith + rule.Param()
	case "required_without":
		return "must be given, or " + strings.ToLower(rule.Param())
	case "excluded_with":
		return "must not be given beside " + strings.ToLower(rule.Param())
	default:
		return strings.TrimSpace("must satisfy " + rule.Tag() + " " + rule.Param())
	}
}

// bound says the limit of a number, or of the length of a text or a list.
func bound(rule validator.FieldError, side string) string {
	length, err := strconv.Atoi(rule.Param())
	switch {
	case err == nil && rule.Kind() == reflect.String:
		return "must have " + side + Plural(length, "character")
	case err == nil && rule.Kind() == reflect.Slice:
		return "must have " + side + Plural(length, "value")
	default:
		return "must be " + side + rule.Param()
	}
}

// NeededWith begins the text about a member that another one needs; the name of that one follows.
const NeededWith = "is needed with "

// plainRules are the rules whose parameter, if any, means nothing to clients.
var plainRules = map[string]string{
	"required": "must be given",
	"uuid":     "must be a UUID",
	"email":    "must be an e-mail address",
	"datetime": "must be a time as in RFC 3339, like 2026-03-01T00:00:00Z",
	"http_url": "must be an address that begins with http:// or https://",
	// Of settings.
	"hostname_port": "must be a host and a port, like 127.0.0.1:8000",
}

// Plural returns the count with its noun, which takes an s where it is not one.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
