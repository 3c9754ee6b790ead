package xpath

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mistake is what is wrong with an expression.
type Mistake struct {
	Message string
}

func mistake(format string, values ...any) *Mistake {
	return &Mistake{fmt.Sprintf(format, values...)}
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenSymbol
	tokenOperator
	tokenName
	tokenFunction
	tokenAxis
	tokenNumber
	tokenLiteral
	tokenVariable
)

// token is a word of an expression. A name has its prefix in front of it, with a colon.
type token struct {
	kind   tokenKind
	text   string
	number float64
}

// symbols are the longest first.
var symbols = []string{
	"::", "//", "..", "!=", "<=", ">=",
	"(", ")", "[", "]", ".", "@", ",", "/", "|", "+", "-", "=", "<", ">", "*",
}

// namedOperators are names where an operator is due.
var namedOperators = map[string]bool{"and": true, "or": true, "div": true, "mod": true}

func tokenize(source string) ([]token, *Mistake) {
	var tokens []token
	rest := source
	for {
		rest = strings.TrimLeft(rest, " \t\r\n")
		if rest == "" {
			return append(tokens, token{}), nil
		}
		one, length, fault := nextToken(rest, operatorIsDue(tokens))
		if fault != nil {
			return nil, fault
		}
		rest = rest[length:]
		if one.kind == tokenName {
			one.kind = nameKind(strings.TrimLeft(rest, " \t\r\n"))
		}
		tokens = append(tokens, one)
	}
}

// operatorIsDue reports whether "*" and names mean operators behind these tokens.
func operatorIsDue(tokens []token) bool {
	if len(tokens) == 0 {
		return false
	}
	switch last := tokens[len(tokens)-1]; last.kind {
	case tokenOperator, tokenFunction, tokenAxis:
		return false
	case tokenSymbol:
		return last.text == ")" || last.text == "]" || last.text == "." || last.text == ".." || last.text == "*"
	default:
		return true
	}
}

// nameKind says what a name is by what follows it.
func nameKind(rest string) tokenKind {
	switch {
	case strings.HasPrefix(rest, "::"):
		return tokenAxis
	case strings.HasPrefix(rest, "("):
		return tokenFunction
	default:
		return tokenName
	}
}

func nextToken(rest string, operator bool) (token, int, *Mistake) {
	first := rest[0]
	switch {
	case first == '"' || first == '\'':
		end := strings.IndexByte(rest[1:], first)
		if end < 0 {
			return token{}, 0, mistake("a text is not closed")
		}
		return token{kind: tokenLiteral, text: rest[1 : end+1]}, end + 2, nil
	case startsNumber(rest):
		length := numberLength(rest)
		number, err := strconv.ParseFloat(rest[:length], 64)
		if err != nil {
			return token{}, 0, mistake("%.40s is not a number", rest[:length])
		}
		return token{kind: tokenNumber, number: number}, length, nil
	case first == '$':
		length := nameLength(rest[1:])
		if length == 0 {
			return token{}, 0, mistake("a name is missing after $")
		}
		return token{kind: tokenVariable, text: rest[1 : length+1]}, length + 1, nil
	}
	if nameLength(rest) > 0 {
		return nameToken(rest, operator)
	}
	for _, symbol := range symbols {
		if strings.HasPrefix(rest, symbol) {
			return symbolToken(symbol, operator), len(symbol), nil
		}
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return token{}, 0, mistake("%q is not expected", r)
}

func nameToken(rest string, operator bool) (token, int, *Mistake) {
	length := nameLength(rest)
	text := rest[:length]
	switch {
	case operator && namedOperators[text]:
		return token{kind: tokenOperator, text: text}, length, nil
	case operator:
		return token{}, 0, mistake("an operator is missing before %.40s", text)
	default:
		return token{kind: tokenName, text: text}, length, nil
	}
}

func symbolToken(symbol string, operator bool) token {
	switch symbol {
	case "*":
		if operator {
			return token{kind: tokenOperator, text: symbol}
		}
	case "/", "//", "|", "+", "-", "=", "!=", "<", "<=", ">", ">=":
		return token{kind: tokenOperator, text: symbol}
	}
	return token{kind: tokenSymbol, text: symbol}
}

func startsNumber(text string) bool {
	return isDigit(text[0]) || text[0] == '.' && len(text) > 1 && isDigit(text[1])
}

func isDigit(b byte) bool {
	return b >= '0' && b <= '9'
}

// numberLength is the length of Digits, or Digits with a point, at the start of a text.
func numberLength(text string) int {
	length := 0
	pointed := false
	for length < len(text) && (isDigit(text[length]) || text[length] == '.' && !pointed) {
		pointed = pointed || text[length] == '.'
		length++
	}
	return length
}

// nameLength is the length of a name with its prefix at the start of a text. A prefix may have "*" behind it.
func nameLength(text string) int {
	length := simpleNameLength(text)
	if length == 0 || length == len(text) || text[length] != ':' {
		return length
	}
	behind := text[length+1:]
	if strings.HasPrefix(behind, "*") {
		return length + 2
	}
	if more := simpleNameLength(behind); more > 0 {
		return length + 1 + more
	}
	return length
}

func simpleNameLength(text string) int {
	for i, r := range text {
		if r == '_' || unicode.IsLetter(r) {
			continue
		}
		if i > 0 && (r == '-' || r == '.' || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r) || r == '·') {
			continue
		}
		return i
	}
	return len(text)
}
