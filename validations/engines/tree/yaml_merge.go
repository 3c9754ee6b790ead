package tree

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v4"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// pair is a member of a mapping, or of another that a merge key (<<) has brought in.
type pair struct {
	name       string
	key, value *yaml.Node
}

// pairsOf returns the members of a mapping that was read before, those that it merges last.
func pairsOf(node *yaml.Node) []pair {
	r := &yamlReader{maxRepeats: math.MaxInt}
	r.limits.MaxDepth = math.MaxInt
	pairs := make([]pair, 0, len(node.Content)/2)
	_ = r.pairs(node, 0, func(p pair) error { // What can be wrong was found when it was read.
		pairs = append(pairs, p)
		return nil
	})
	return pairs
}

// pairs visits the members of a mapping, those that it merges last.
func (r *yamlReader) pairs(node *yaml.Node, depth int, visit func(p pair) error) error {
	merged, err := r.ownPairs(node, visit)
	if err != nil || merged == nil {
		return err
	}
	known := map[string]bool{}
	note := func(p pair) error {
		known[p.name] = true
		return nil
	}
	if _, err := r.ownPairs(node, note); err != nil {
		return err
	}
	r.inAlias++
	defer func() { r.inAlias-- }()
	return r.mergedPairs(merged, known, depth, visit)
}

// ownPairs visits the members that stand in a mapping itself, and returns what its merge key names, nil without one.
func (r *yamlReader) ownPairs(node *yaml.Node, visit func(p pair) error) (*yaml.Node, error) {
	var merged *yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		p := pair{key: node.Content[i], value: node.Content[i+1]}
		if p.key.Kind == yaml.ScalarNode && p.key.ShortTag() == "!!merge" {
			if merged != nil {
				return nil, nodeFault(p.key, "yaml.duplicate_name", "the merge key (<<) occurs twice; give one a list")
			}
			merged = p.value
			continue
		}
		// Names such as 1 or true are taken as they are written, since JSON knows only strings there.
		key := aliased(p.key)
		if key.Kind != yaml.ScalarNode {
			return nil, nodeFault(p.key, "yaml.name", "a name must be a plain value")
		}
		p.name = key.Value
		if err := visit(p); err != nil {
			return nil, err
		}
	}
	return merged, nil
}

// mergedPairs visits the members of mappings that a merge key names, as far as they are not known yet. All of them
// count as repeated, because a hostile document has merge keys in what it merges.
func (r *yamlReader) mergedPairs(
	merged *yaml.Node, known map[string]bool, depth int, visit func(p pair) error,
) error {
	if depth > r.limits.MaxDepth {
		return nodeFault(merged, "yaml.depth", fmt.Sprintf("nested deeper than %d levels", r.limits.MaxDepth))
	}
	sources, err := mergedMappings(merged)
	if err != nil {
		return err
	}
	for _, source := range sources {
		if err := r.repeat(merged); err != nil {
			return err
		}
		further, err := r.ownPairs(source, r.unknownPairs(known, visit))
		if err == nil && further != nil {
			err = r.mergedPairs(further, known, depth+1, visit)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unknownPairs visits the members of one mapping that are not known yet.
func (r *yamlReader) unknownPairs(known map[string]bool, visit func(p pair) error) func(p pair) error {
	own := map[string]bool{}
	return func(p pair) error {
		if own[p.name] {
			return duplicateName(p)
		}
		own[p.name] = true
		if err := r.repeat(p.key); err != nil || known[p.name] {
			return err
		}
		known[p.name] = true
		return visit(p)
	}
}

func duplicateName(p pair) error {
	return nodeFault(p.key, "yaml.duplicate_name", "the name "+engine.Quote(p.name)+" occurs twice")
}

// mergedMappings are the mappings that a merge key names: one, or a list.
func mergedMappings(value *yaml.Node) ([]*yaml.Node, error) {
	items := []*yaml.Node{value}
	if list := aliased(value); list.Kind == yaml.SequenceNode {
		items = list.Content
	}
	var sources []*yaml.Node
	for _, item := range items {
		source := aliased(item)
		if source.Kind != yaml.MappingNode {
			return nil, nodeFault(item, "yaml.merge", "a merge key (<<) takes a mapping or a list of mappings")
		}
		sources = append(sources, source)
	}
	return sources, nil
}

func aliased(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}
