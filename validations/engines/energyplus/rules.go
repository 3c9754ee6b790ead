package energyplus

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"

	"github.com/simplevalidations/simplevalidations/validations/engines/energyplus/model"
	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/expression"
)

// modelRule is a rule on the facts of a model.
type modelRule struct {
	expression.Rule

	// classes are those whose counts the rule names; a class that the model lacks has the count 0.
	classes []string
}

func compileModelRules(
	configs []expression.RuleConfig, limits engine.Limits,
) ([]modelRule, []engine.ConfigError) {
	if len(configs) > limits.MaxRules {
		detail := fmt.Sprintf("at most %d rules are allowed", limits.MaxRules)
		return nil, engine.Refuse("/rules", "rule.too_many", detail)
	}
	env := expression.NewEnv(limits,
		cel.Variable("format", cel.StringType),
		cel.Variable("version", cel.StringType),
		cel.Variable("major", cel.IntType),
		cel.Variable("minor", cel.IntType),
		cel.Variable("objects", cel.IntType),
		cel.Variable("counts", cel.MapType(cel.StringType, cel.IntType)),
	)
	compiler := expression.NewRules(limits)
	rules := make([]modelRule, 0, len(configs))
	for i, config := range configs {
		rule := modelRule{Rule: compiler.Rule(env, "rules", i, config)}
		for _, e := range append(rule.Message.Expressions(), rule.Assert) {
			if e != nil {
				rule.classes = append(rule.classes, e.Reads("counts").Names...)
			}
		}
		rules = append(rules, rule)
	}
	return rules, compiler.Faults
}

func (r *modelRun) checkRules(ctx context.Context, c *engine.Collector) error {
	work := expression.NewWork(r.engine.limits)
	for _, rule := range r.engine.rules {
		found, _, err := rule.Judge(ctx, work, r.facts(rule.classes))
		if err != nil {
			return err
		}
		if found != nil {
			c.Add("", *found)
		}
	}
	return nil
}

// facts are what rules know of a model. Counts are by the classes as the model writes them, and by those that the rule
// names, in its spelling.
func (r *modelRun) facts(classes []string) map[string]any {
	counts, spelling := map[string]int64{}, map[string]string{}
	for _, o := range r.Model.Objects {
		if _, known := spelling[o.Key]; !known {
			spelling[o.Key] = o.Class
		}
		counts[spelling[o.Key]]++
	}
	for _, class := range classes {
		written, known := spelling[model.Fold(class)]
		if counts[class] = counts[written]; !known {
			counts[class] = 0
		}
	}
	major, minor := versionNumbers(r.version)
	return map[string]any{
		"format": r.Model.Format, "version": r.version, "major": major, "minor": minor,
		"objects": int64(len(r.Model.Objects)), "counts": counts,
	}
}

// versionNumbers are 0 where the version is unknown. Others are two numbers.
func versionNumbers(version string) (int64, int64) {
	before, after, _ := strings.Cut(version, ".")
	major, _ := strconv.ParseInt(before, 10, 64)
	minor, _ := strconv.ParseInt(after, 10, 64)
	return major, minor
}
