package expression

import (
	"regexp"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

var ruleID = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// Rules compiles the rules of one step and gathers their faults.
type Rules struct {
	Limits engine.Limits
	// Cheaper says how to write a rule with fewer steps, after a semicolon. It may be empty.
	Cheaper string
	ids     map[string]bool
	Faults  []engine.ConfigError
}

// NewRules returns a compiler for the rules of one step.
func NewRules(limits engine.Limits) *Rules {
	return &Rules{Limits: limits, ids: map[string]bool{}}
}

// Identity checks what every rule has and returns its severity.
func (c *Rules) Identity(list string, i int, id string, severity engine.Severity) engine.Severity {
	if !ruleID.MatchString(id) {
		c.Fault(engine.ItemPointer(list, i, "id"), "use lower case letters, digits and underscores, at most 64")
	}
	if c.ids[id] {
		c.Fault(engine.ItemPointer(list, i, "id"), "another rule has this id")
	}
	c.ids[id] = true
	if severity == "" {
		return engine.SeverityError
	}
	if !severity.Known() {
		c.Fault(engine.ItemPointer(list, i, "severity"), "use ERROR, WARNING or INFO")
	}
	return severity
}

// Condition compiles an expression that must be true or false. It returns nil after a fault.
func (c *Rules) Condition(env *cel.Env, source, at string) *Expression {
	e, err := c.compile(env, source)
	if err != nil {
		c.Fault(at, err.Error())
		return nil
	}
	if t := e.AST.OutputType(); !t.IsExactType(cel.BoolType) && !t.IsExactType(cel.DynType) {
		c.Fault(at, "the expression must be true or false")
		return nil
	}
	return e
}

// Message compiles the message of a rule. Without one it shows what the condition compares, if it compares something,
// or is a sentence with the id of the rule.
func (c *Rules) Message(env *cel.Env, condition *Expression, source, id, at string) *Template {
	if source == "" {
		words := &Template{parts: []templatePart{{text: "the rule " + id + " does not hold"}}}
		if condition != nil {
			why := *condition
			if program, err := c.plan(env, why.AST, cel.OptTrackState); err == nil {
				why.program, words.why = program, &why
			}
		}
		return words
	}
	t, err := c.template(env, source)
	if err != nil {
		c.Fault(at, err.Error())
		return &Template{}
	}
	return t
}

// Fault adds a fault at a JSON pointer.
func (c *Rules) Fault(at, detail string) {
	c.Faults = append(c.Faults, engine.ConfigError{Pointer: at, Code: "rule.invalid", Detail: detail})
}

func (c *Rules) cheaper() string {
	if c.Cheaper == "" {
		return ""
	}
	return "; " + c.Cheaper
}
