package expression

import (
	"fmt"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/functions"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/ext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// textFunctions are functions of the library whose result may be much longer than what they are given: a few characters
// in an expression could make a text of many gigabytes. Each counts what it would make before it calls the library's.
func textFunctions(limits engine.Limits) ([]cel.EnvOption, error) {
	library, err := textLibrary()
	if err != nil {
		return nil, err
	}
	g := guard{library, limits}
	text, number, texts := cel.StringType, cel.IntType, cel.ListType(cel.StringType)
	return []cel.EnvOption{
		cel.Function("replace",
			g.function("string_replace_string_string", replacedSize, text, text, text, text),
			g.function("string_replace_string_string_int", replacedSize, text, text, text, text, number)),
		cel.Function("join",
			g.function("list_join", joinedSize, text, texts),
			g.function("list_join_string", joinedSize, text, texts, text)),
		cel.Function("split",
			g.function("string_split_string", splitSize, texts, text, text),
			g.function("string_split_string_int", splitSize, texts, text, text, number)),
		cel.Function("format",
			g.function("string_format", formattedSize, text, text, cel.ListType(cel.DynType))),
	}, nil
}

// textLibrary returns the functions of the library that textFunctions replaces.
//
//nolint:gochecknoglobals // It is a constant that takes a while to make.
var textLibrary = sync.OnceValues(func() (map[string]*functions.Overload, error) {
	library, err := cel.NewCustomEnv(ext.Strings(ext.StringsVersion(stringsVersion)))
	if err != nil {
		return nil, fmt.Errorf("declare functions on texts: %w", err)
	}
	found := map[string]*functions.Overload{}
	for _, name := range []string{"replace", "join", "split", "format"} {
		bindings, err := library.Functions()[name].Bindings()
		if err != nil {
			return nil, fmt.Errorf("read function %s: %w", name, err)
		}
		for _, binding := range bindings {
			found[binding.Operator] = binding
		}
	}
	return found, nil
})

// guard puts a bound before functions of the library.
type guard struct {
	library map[string]*functions.Overload
	limits  engine.Limits
}

// function is the library's overload behind a bound on the number of bytes that it makes.
func (g guard) function(
	id string, size func(args []ref.Val) int64, result *cel.Type, params ...*cel.Type,
) cel.FunctionOpt {
	call := g.library[id]
	guarded := func(args ...ref.Val) ref.Val {
		if size(args) > g.limits.MaxTreeBytes {
			return types.NewErr("the text would be too long")
		}
		switch {
		case call == nil:
			return types.MaybeNoSuchOverloadErr(args[0])
		case len(args) == 1 && call.Unary != nil:
			return call.Unary(args[0])
		case len(args) == 2 && call.Binary != nil:
			return call.Binary(args[0], args[1])
		default:
			return call.Function(args...)
		}
	}
	binding := cel.FunctionBinding(guarded)
	switch len(params) {
	case 1:
		binding = cel.UnaryBinding(func(a ref.Val) ref.Val { return guarded(a) })
	case 2:
		binding = cel.BinaryBinding(func(a, b ref.Val) ref.Val { return guarded(a, b) })
	}
	return cel.MemberOverload(id, params, result, binding)
}

func replacedSize(args []ref.Val) int64 {
	return textSize(args[0]) + occurrences(args)*textSize(args[2])
}

// splitSize counts the header of each part, which is longer than most parts.
func splitSize(args []ref.Val) int64 {
	const header = 16
	return (occurrences(args) + 1) * header
}

// occurrences is how often the second argument is found in the first.
func occurrences(args []ref.Val) int64 {
	return int64(strings.Count(textOf(args[0]), textOf(args[1])))
}

func joinedSize(args []ref.Val) int64 {
	size := textSize(args[0])
	if list, ok := args[0].(traits.Lister); ok && len(args) > 1 {
		count, _ := list.Size().(types.Int)
		size += int64(count) * textSize(args[1])
	}
	return size
}

func formattedSize(args []ref.Val) int64 {
	return textSize(args[0]) + textSize(args[1])
}

func textOf(value ref.Val) string {
	text, _ := value.(types.String)
	return string(text)
}

// textSize is about how many bytes a value has as a text.
func textSize(value ref.Val) int64 {
	const other = 24
	switch v := value.(type) {
	case types.String:
		return int64(len(v))
	case traits.Mapper:
		size := int64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			key := it.Next()
			size += textSize(key) + textSize(v.Get(key))
		}
		return size
	case traits.Lister:
		size := int64(0)
		for it := v.Iterator(); it.HasNext() == types.True; {
			size += textSize(it.Next())
		}
		return size
	default:
		return other
	}
}
