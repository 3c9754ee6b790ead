package engines

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// rulesEngine checks JSON, YAML and XML documents by rules of a tenant's own.
type rulesEngine struct {
	rules  []treeRule
	limits Limits
}

// treeRule is a compiled ruleConfig. It has either a check or a condition.
type treeRule struct {
	id       string
	severity Severity
	path     treePath
	// optional says that the rule has nothing to say where its path is missing.
	optional  bool
	guard     *treeExpression
	check     operator
	condition *treeExpression
	// message is nil where the check or the rule's id say enough.
	message *template
}

// rulesRun is the state of one run over one document.
type rulesRun struct {
	document *tree
	limits   Limits
	// tallies are two of each rule: what failed and what was not evaluated.
	tallies []*ruleTally
}

func compileRules(config json.RawMessage, limits Limits) (*rulesEngine, []ConfigError) {
	var c rulesConfig
	if faults := decodeConfig(config, &c); len(faults) > 0 {
		return nil, faults
	}
	if len(c.Rules) == 0 || len(c.Rules) > limits.MaxRules {
		detail := fmt.Sprintf("a step has 1 to %d rules", limits.MaxRules)
		return nil, []ConfigError{{"/rules", "rule.too_many", detail}}
	}
	compiler, err := newTreeRuleCompiler(limits)
	if err != nil {
		return nil, []ConfigError{{"", "rule.invalid", err.Error()}}
	}
	engine := &rulesEngine{limits: limits}
	for i, raw := range c.Rules {
		engine.rules = append(engine.rules, compiler.rule(raw, i))
	}
	return engine, compiler.faults
}

// Run checks one document.
func (e *rulesEngine) Run(ctx context.Context, doc Document) (Report, error) {
	if err := ctx.Err(); err != nil {
		return Report{}, fmt.Errorf("check by rules: %w", err)
	}
	c := newCollector(e.limits)
	t, unreadable, err := readAnyTree(doc, e.limits)
	if err != nil {
		return Report{}, err
	}
	if unreadable != nil {
		c.add("", *unreadable)
		return c.finish(), nil
	}
	run := &rulesRun{document: t, limits: e.limits}
	for i := range e.rules {
		if err := run.check(ctx, &e.rules[i]); err != nil {
			return Report{}, err
		}
	}
	run.report(c)
	return c.finish(), nil
}

// check applies one rule to each place of its path. Its error is the context's.
func (r *rulesRun) check(ctx context.Context, rule *treeRule) error {
	failed := &ruleTally{rule: rule, severity: rule.severity}
	open := &ruleTally{rule: rule, severity: SeverityError, notEvaluated: true}
	r.tallies = append(r.tallies, failed, open)
	at := &ruleSpot{run: r, rule: rule, failed: failed, open: open}
	if rule.guard != nil && !rule.guard.readsValue {
		if applies, err := at.guarded(ctx); err != nil || !applies {
			return err
		}
	}
	return rule.path.visit(r.document, func(p treePlace) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("check by rules: %w", err)
		}
		at.place = p
		return at.check(ctx)
	})
}

// ruleSpot is a rule at one place of the document.
type ruleSpot struct {
	run          *rulesRun
	rule         *treeRule
	failed, open *ruleTally
	place        treePlace
}

func (s *ruleSpot) check(ctx context.Context) error {
	switch s.place.state {
	case placeMissing:
		if !s.rule.optional {
			s.fail(nil, "missing")
		}
		return nil
	case placeClosed:
		s.leaveOpen(subject{value: s.place.value}.kind() + " has no elements")
		return nil
	default:
	}
	if s.rule.guard != nil && s.rule.guard.readsValue {
		if applies, err := s.guarded(ctx); err != nil || !applies {
			return err
		}
	}
	if s.rule.check == nil {
		return s.checkCondition(ctx)
	}
	return s.checkValue(ctx)
}

func (s *ruleSpot) checkValue(ctx context.Context) error {
	found := s.rule.check(subject{s.place.value, s.run.document.textual, s.run.limits.MaxPatternWork})
	switch found.verdict {
	case verdictOpen:
		s.leaveOpen(found.message)
	case verdictFails:
		return s.failWith(ctx, found)
	default:
	}
	return nil
}

// guarded says whether the rule applies. A guard that cannot be evaluated leaves the rule open.
func (s *ruleSpot) guarded(ctx context.Context) (bool, error) {
	applies, reason, err := s.rule.guard.holds(ctx, s.variables())
	if reason != "" {
		s.leaveOpen(s.rule.guard.explain(s, reason))
	}
	return applies, err
}

func (s *ruleSpot) checkCondition(ctx context.Context) error {
	holds, reason, err := s.rule.condition.holds(ctx, s.variables())
	switch {
	case err != nil:
		return err
	case reason != "":
		s.leaveOpen(s.rule.condition.explain(s, reason))
		return nil
	case holds:
		return nil
	}
	return s.failWith(ctx, outcome{message: "the rule " + s.rule.id + " does not hold"})
}

// failWith uses the message of the rule where it has one. It is only made where it is shown.
func (s *ruleSpot) failWith(ctx context.Context, found outcome) error {
	message := found.message
	if s.rule.message != nil && !s.failed.full(s.run.limits) {
		rendered, err := s.rule.message.render(ctx, s.variables())
		if err != nil {
			return err
		}
		message = rendered
	}
	s.fail(found.below, message)
	return nil
}

func (s *ruleSpot) fail(below []string, message string) {
	s.failed.add(s.run.limits, s.place, below, message)
}

func (s *ruleSpot) leaveOpen(reason string) {
	s.open.add(s.run.limits, s.place, nil, "not evaluated: "+reason)
}

func (s *ruleSpot) variables() map[string]any {
	return map[string]any{variableDoc: s.run.document.value, variableValue: s.place.value}
}

// group names the check in what is said of many failures at once.
func (t *ruleTally) group() string {
	if t.notEvaluated {
		return strings.TrimSpace(t.rule.path.text + " (not evaluated)")
	}
	return t.rule.path.text
}
