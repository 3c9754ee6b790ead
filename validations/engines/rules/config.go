package rules

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// Config is the configuration of a rules step. Its rules are decoded one by one, so each reports its own fault.
type Config struct {
	Rules []json.RawMessage `json:"rules"`
}

// ruleConfig is a rule on each place of a path for which When holds. It has an operator or an expression.
type ruleConfig struct {
	expression.RuleConfig
	assertionConfig

	When    string `json:"when,omitempty"`
	Missing string `json:"missing,omitempty"`
}

// assertionConfig is an operator on a path with what it compares with.
type assertionConfig struct {
	Path      string          `json:"path,omitempty"`
	Operator  string          `json:"operator,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Tolerance json.RawMessage `json:"tolerance,omitempty"`
}

// What a rule does where its path is missing.
const (
	missingFails = "fail"
	missingSkips = "skip"
)

// maxQuantifiers is how deep any, all and none may nest.
const maxQuantifiers = 4

// treeRuleCompiler compiles the rules of one step and gathers what is wrong with them.
type treeRuleCompiler struct {
	*expression.Rules
	env       *cel.Env
	operators map[string]operatorCompiler
}

func newTreeRuleCompiler(limits engine.Limits) *treeRuleCompiler {
	// An expression on a document may go through long lists, while one on a row of a table runs for each of many rows.
	limits.MaxRuleCost = limits.MaxDocumentRuleCost
	rules := expression.NewRules(limits)
	rules.Cheaper = "set path to the elements of one list, as in /zones/*, and loop over the other list only"
	return &treeRuleCompiler{Rules: rules, env: newTreeEnv(limits), operators: operators}
}

func (c *treeRuleCompiler) rule(raw json.RawMessage, i int) treeRule {
	const list = "rules"
	at := engine.Pointer(list, strconv.Itoa(i))
	var config ruleConfig
	if faults := engine.DecodeConfig(raw, &config); len(faults) > 0 {
		for _, fault := range faults {
			fault.Pointer = at + fault.Pointer
			c.Faults = append(c.Faults, fault)
		}
		return treeRule{}
	}
	rule := treeRule{id: config.ID, optional: config.Missing == missingSkips}
	rule.severity = c.Identity(list, i, config.ID, config.Severity)
	if config.Missing != "" && config.Missing != missingFails && config.Missing != missingSkips {
		c.Fault(at+"/missing", "use fail or skip")
	}
	rule.path = c.path(config.Path, at+"/path")
	switch {
	case (config.Assert == "") == (config.Operator == ""):
		c.Fault(at, "a rule has either an operator or an assert")
	case config.Assert != "":
		rule.condition = c.expression(config.Assert, at+"/assert")
		if len(config.Value) > 0 {
			c.Fault(at+"/value", "an assert takes no value")
		}
		if len(config.Tolerance) > 0 {
			c.Fault(at+"/tolerance", "an assert takes no tolerance")
		}
	default:
		rule.check = c.operator(config.assertionConfig, at, maxQuantifiers)
	}
	if config.When != "" {
		rule.guard = c.expression(config.When, at+"/when")
	}
	if condition := rule.condition; condition != nil {
		rule.message = c.Message(c.env, condition.Expression, config.Message, config.ID, at+"/message")
	} else if config.Message != "" {
		rule.message = c.Message(c.env, nil, config.Message, config.ID, at+"/message")
	}
	return rule
}

func (c *treeRuleCompiler) path(text, at string) treePath {
	path, err := parsePath(text, c.Limits)
	if err != nil {
		c.Fault(at, err.Error())
	}
	return path
}

func (c *treeRuleCompiler) expression(source, at string) *treeExpression {
	if e := c.Condition(c.env, source, at); e != nil {
		return newTreeExpression(e)
	}
	return nil
}

// operator compiles an operator with its value. It returns nil after a fault.
func (c *treeRuleCompiler) operator(config assertionConfig, at string, depth int) operator {
	compile, known := c.operators[config.Operator]
	if !known {
		names := slices.Sorted(maps.Keys(c.operators))
		detail := "use one of " + strings.Join(names, ", ")
		if likely := engine.Nearest(config.Operator, names); likely != "" {
			detail = "did you mean " + likely + "? " + detail
		}
		c.Fault(at+"/operator", detail)
		return nil
	}
	o := &operand{compiler: c, at: at, raw: config.Value, tolerance: config.Tolerance, depth: depth}
	o.value = o.parse(config.Value, at+"/value")
	check := compile(o)
	if len(config.Value) > 0 && o.unused {
		c.Fault(at+"/value", config.Operator+" takes no value")
	}
	if len(config.Tolerance) > 0 && config.Operator != operatorApproxEq {
		c.Fault(at+"/tolerance", config.Operator+" takes no tolerance")
	}
	return check
}
