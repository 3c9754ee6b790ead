package expression

import (
	"context"
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

// RuleConfig is what rules with an expression have in a configuration.
type RuleConfig struct {
	ID       string          `json:"id"`
	Assert   string          `json:"assert"`
	Message  string          `json:"message,omitempty"`
	Severity engine.Severity `json:"severity,omitempty"`
}

// Requirement is what the rule demands.
func (c RuleConfig) Requirement() engine.Requirement {
	return engine.Requirement{Subject: c.ID, Expression: c.Assert, Otherwise: c.Message, Severity: c.Severity}
}

// Rule is a compiled RuleConfig.
type Rule struct {
	ID       string
	Severity engine.Severity
	Assert   *Expression
	Message  *Template
}

// Rule compiles a rule of a list.
func (c *Rules) Rule(env *cel.Env, list string, i int, config RuleConfig) Rule {
	rule := Rule{ID: config.ID, Severity: c.Identity(list, i, config.ID, config.Severity)}
	rule.Assert = c.Condition(env, config.Assert, engine.ItemPointer(list, i, "assert"))
	at := engine.ItemPointer(list, i, "message")
	rule.Message = c.Message(env, rule.Assert, config.Message, config.ID, at)
	return rule
}

// Finding is what a rule finds.
func (r Rule) Finding(message string) engine.Finding {
	return engine.Finding{Severity: r.Severity, Code: "rule." + r.ID, Message: message, AssertionID: r.ID}
}

// NotEvaluated is the finding of a rule without a verdict, which is never a pass, whatever the rule's own severity.
func (r Rule) NotEvaluated(reason string) engine.Finding {
	f := r.Finding("not evaluated: " + reason)
	f.Severity = engine.SeverityError
	return f
}

// Judge returns the finding of a rule that does not hold or cannot be evaluated, and nil for others. It says whether
// the rule was evaluated.
func (r Rule) Judge(ctx context.Context, work *Work, variables map[string]any) (*engine.Finding, bool, error) {
	holds, reason, err := r.Assert.Holds(ctx, work, variables)
	if err != nil || holds {
		return nil, true, err
	}
	found := r.NotEvaluated(reason)
	if reason == "" {
		message, err := r.Message.Render(ctx, work, variables)
		if err != nil {
			return nil, true, err
		}
		found = r.Finding(message)
	}
	return &found, reason == "", nil
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
