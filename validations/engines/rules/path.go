package rules

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
	"github.com/simplevalidations/simplevalidations/validations/engines/tree"
)

// treePath is a JSON pointer in which a star stands for each element of a list or each member of an object. A member
// that is itself named so is written ~2.
type treePath struct {
	text  string
	steps []pathStep
}

type pathStep struct {
	name string
	each bool
}

// placeState says what a path found.
type placeState int

const (
	placeFound placeState = iota
	// placeMissing is a place whose last token does not exist. Its value is the one that lacks it.
	placeMissing
	// placeClosed is a value that a star was to open and that has no elements by its type.
	placeClosed
)

// treePlace is one result of a path. The tokens are only valid during the visit.
type treePlace struct {
	tokens []string
	value  any
	state  placeState
}

// The escapes in a path: those of JSON pointers, and ~2 for a star that is part of a name.
var (
	withoutEscapes = strings.NewReplacer("~0", "", "~1", "", "~2", "")
	unescape       = strings.NewReplacer("~0", "~", "~1", "/", "~2", "*")
)

func parsePath(text string, limits engine.Limits) (treePath, error) {
	path := treePath{text: text}
	if text == "" {
		return path, nil
	}
	tokens := strings.Split(text, "/")
	if tokens[0] != "" {
		return path, errors.New("a path starts with a slash or is empty")
	}
	if len(tokens) > limits.MaxDepth {
		return path, fmt.Errorf("a path has at most %d parts", limits.MaxDepth)
	}
	for _, token := range tokens[1:] {
		if strings.Contains(withoutEscapes.Replace(token), "~") {
			return path, errors.New("write ~0 for a tilde, ~1 for a slash and ~2 for a star in a name")
		}
		path.steps = append(path.steps, pathStep{name: unescape.Replace(token), each: token == "*"})
	}
	return path, nil
}

// single reports whether the path has no star.
func (p treePath) single() bool {
	return !slices.ContainsFunc(p.steps, func(s pathStep) bool { return s.each })
}

// visit goes through all places of the path in the order of the document, members of an object by name.
func (p treePath) visit(t *tree.Tree, found func(treePlace) error) error {
	w := &walker{steps: p.steps, textual: t.Textual, found: found}
	return w.walk(t.Value, 0)
}

// names are the tokens of a path without a star.
func (p treePath) names() []string {
	return engine.Each(p.steps, func(step pathStep) string { return step.name })
}

// find follows a path without a star.
func (p treePath) find(value any) (any, bool) {
	for _, step := range p.steps {
		var known bool
		if value, known = engine.Member(value, step.name); !known {
			return nil, false
		}
	}
	return value, true
}

// walker is the state of one visit.
type walker struct {
	steps   []pathStep
	textual bool
	found   func(treePlace) error
	tokens  []string
}

func (w *walker) walk(value any, i int) error {
	if i == len(w.steps) {
		return w.found(treePlace{w.tokens, value, placeFound})
	}
	if w.steps[i].each {
		return w.walkEach(value, i)
	}
	child, known := engine.Member(value, w.steps[i].name)
	if !known {
		return w.found(treePlace{append(w.tokens, w.steps[i].name), value, placeMissing})
	}
	return w.walkBelow(w.steps[i].name, child, i)
}

func (w *walker) walkEach(value any, i int) error {
	switch v := value.(type) {
	case []any:
		for at, child := range v {
			if err := w.walkBelow(strconv.Itoa(at), child, i); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		if w.textual {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := w.walkBelow(name, v[name], i); err != nil {
				return err
			}
		}
		return nil
	}
	if w.textual {
		// An element that occurs once is not a list in XML's tree, but it is the only one of its name.
		return w.walk(value, i+1)
	}
	return w.found(treePlace{w.tokens, value, placeClosed})
}

func (w *walker) walkBelow(token string, child any, i int) error {
	w.tokens = append(w.tokens, token)
	err := w.walk(child, i+1)
	w.tokens = w.tokens[:len(w.tokens)-1]
	return err
}
