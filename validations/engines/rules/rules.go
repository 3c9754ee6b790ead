// Package rules is the engine of rules steps: it checks JSON, YAML and XML documents by an organization's own rules.
package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// Engine checks JSON, YAML and XML documents by rules of a tenant's own.
type Engine struct {
	rules  []treeRule
	limits engine.Limits
}

// treeRule is a compiled ruleConfig. It has either a check or a condition.
type treeRule struct {
	id       string
	severity engine.Severity
	path     treePath
	// optional says that the rule has nothing to say where its path is missing.
	optional  bool
	guard     *treeExpression
	check     operator
	condition *treeExpression
	// message is nil where the check says enough.
	message *expression.Template
}

// run is the state of one run over one document.
type run struct {
	document *tree.Tree
	limits   engine.Limits
	work     *expression.Work
	// tallies are two of each rule: what failed and what was not evaluated.
	tallies []*ruleTally
}

// Compile checks the configuration of a step and returns its engine, or everything that is wrong with it.
func Compile(c Config, limits engine.Limits) (*Engine, []engine.ConfigError) {
	if len(c.Rules) == 0 || len(c.Rules) > limits.MaxRules {
		detail := fmt.Sprintf("a step has 1 to %d rules", limits.MaxRules)
		return nil, engine.Refuse("/rules", "rule.too_many", detail)
	}
	compiler := newTreeRuleCompiler(limits)
	e := &Engine{limits: limits}
	for i, raw := range c.Rules {
		e.rules = append(e.rules, compiler.rule(raw, i))
	}
	return e, compiler.Faults
}

// Run checks one document.
func (e *Engine) Run(ctx context.Context, doc engine.Document) (engine.Report, error) {
	read := func() (*tree.Tree, *engine.Finding, error) { return tree.ReadAny(doc, e.limits) }
	return engine.Judge(ctx, e.limits, read, func(t *tree.Tree, c *engine.Collector) error {
		run := &run{document: t, limits: e.limits, work: expression.NewWork(e.limits)}
		for i := range e.rules {
			if err := run.check(ctx, &e.rules[i]); err != nil {
				return err
			}
		}
		run.report(c)
		return nil
	})
}

// check applies one rule to each place of its path. Its error is the context's.
func (r *run) check(ctx context.Context, rule *treeRule) error {
	failed := &ruleTally{rule: rule, severity: rule.severity}
	open := &ruleTally{rule: rule, severity: engine.SeverityError, notEvaluated: true}
	r.tallies = append(r.tallies, failed, open)
	at := &ruleSpot{run: r, rule: rule, failed: failed, open: open}
	if rule.guard != nil && !rule.guard.readsValue {
		if applies, err := at.guarded(ctx); err != nil || !applies {
			return err
		}
	}
	err := rule.path.visit(r.document, func(p treePlace) error {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("check by rules: %w", err)
		}
		at.place = p
		return at.check(ctx)
	})
	if at.idle != nil && !at.applied {
		r.tallies = append(r.tallies, at.idle)
	}
	return err
}

// ruleSpot is a rule at one place of the document.
type ruleSpot struct {
	run          *run
	rule         *treeRule
	failed, open *ruleTally
	place        treePlace
	// applied says that the path has led somewhere. If it has not, idle says so if a name seems to be mistaken.
	applied bool
	idle    *ruleTally
}

func (s *ruleSpot) check(ctx context.Context) error {
	switch s.place.state {
	case placeMissing:
		if s.rule.optional {
			s.skip()
		} else {
			s.fail(nil, "missing")
		}
		return nil
	case placeClosed:
		s.leaveOpen(func() string { return subject{value: s.place.value}.kind() + " has no elements" })
		return nil
	default:
		s.applied = true
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

// skip notes if the first place that is missing has a name like others of its parent.
func (s *ruleSpot) skip() {
	if s.applied || s.idle != nil {
		return
	}
	s.idle = &ruleTally{rule: s.rule, severity: engine.SeverityInfo}
	parent, _ := s.place.value.(map[string]any)
	name := s.place.tokens[len(s.place.tokens)-1]
	if likely := engine.Nearest(name, slices.Sorted(maps.Keys(parent))); likely != "" {
		s.idle.add(s.run.limits, s.place, nil, "applied to nothing; did you mean "+engine.Clip(likely)+"?")
	}
}

func (s *ruleSpot) checkValue(ctx context.Context) error {
	found := s.rule.check(subject{
		value: s.place.value, textual: s.run.document.Textual, run: s.run,
		quiet: [...]bool{verdictFails: s.failed.full(s.run.limits), verdictOpen: s.open.full(s.run.limits)},
	})
	if err := s.run.work.Spend(1); err != nil {
		return err
	}
	switch found.verdict {
	case verdictOpen:
		s.leaveOpen(func() string { return found.message })
	case verdictFails:
		return s.failWith(ctx, found)
	default:
	}
	return nil
}

// guarded reports whether the rule applies. A guard that cannot be evaluated leaves the rule open.
func (s *ruleSpot) guarded(ctx context.Context) (bool, error) {
	applies, reason, err := s.rule.guard.Holds(ctx, s.run.work, s.variables())
	if reason != "" {
		s.leaveOpen(func() string { return s.rule.guard.explain(s, reason) })
	}
	return applies, err
}

func (s *ruleSpot) checkCondition(ctx context.Context) error {
	holds, reason, err := s.rule.condition.Holds(ctx, s.run.work, s.variables())
	switch {
	case err != nil:
		return err
	case reason != "":
		s.leaveOpen(func() string { return s.rule.condition.explain(s, reason) })
		return nil
	case holds:
		return nil
	}
	return s.failWith(ctx, outcome{verdict: verdictFails})
}

// failWith uses the message of the rule where it has one. It is only made where it is shown.
func (s *ruleSpot) failWith(ctx context.Context, found outcome) error {
	message := found.message
	if s.rule.message != nil && !s.failed.full(s.run.limits) {
		rendered, err := s.rule.message.Render(ctx, s.run.work, s.variables())
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

func (s *ruleSpot) leaveOpen(reason func() string) {
	message := ""
	if !s.open.full(s.run.limits) {
		message = "not evaluated: " + reason()
	}
	s.open.add(s.run.limits, s.place, nil, message)
}

func (s *ruleSpot) variables() map[string]any {
	return map[string]any{variableDoc: s.run.document.Value, variableValue: s.place.value}
}

// group names the check in what is said of many failures at once.
func (t *ruleTally) group() string {
	if t.notEvaluated {
		return strings.TrimSpace(t.rule.path.text + " (not evaluated)")
	}
	return t.rule.path.text
}
