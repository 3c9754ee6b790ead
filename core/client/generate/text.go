package main

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

var (
	sentenceEnd = regexp.MustCompile(`\.(\s|$)`)
	link        = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	hump        = regexp.MustCompile(`([a-z])([A-Z])`)
)

// firstSentence returns the first sentence of a description, without its markup.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	if strings.HasPrefix(text, "* ") {
		return ""
	}
	text = link.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		return text[:at[0]+1]
	}
	return text
}

// docOf is the summary of an operation as a statement, and the first sentences of its description.
func docOf(o operation) string {
	const sentences = 2
	verb, rest, _ := strings.Cut(o.Summary, " ")
	first, _, _ := strings.Cut(strings.TrimSpace(o.Description), "\n\n")
	first = link.ReplaceAllString(strings.Join(strings.Fields(first), " "), "$1")
	said := []string{verb + "s " + rest + "."}
	for sentence := range strings.SplitSeq(first, ". ") {
		// Of a parameter that another method sends.
		other := slices.ContainsFunc(unread(), func(name string) bool {
			return strings.Contains(sentence, "`"+name+"`")
		})
		if len(said) <= sentences && sentence != "" && !other {
			said = append(said, strings.TrimSuffix(sentence, ".")+".")
		}
	}
	return strings.Join(said, " ")
}

// wrap breaks a text into lines of at most 120 characters, each with the prefix.
func wrap(prefix, text string) string {
	const width = 120
	var lines []string
	line := prefix
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) >= width && line != prefix {
			lines = append(lines, strings.TrimRight(line, " "))
			line = prefix
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}

// methodName is the name of an operation's method, in the spelling of TypeScript. It is the operation's name, without
// the verb where that says only that something is read, and without what every other call is about.
func methodName(id string) string {
	short := map[string]string{
		"getDocument": "documentLines", "downloadDocument": "document", "streamEvents": "events",
		"startRun": "start", "cancelRun": "cancel", "compareRun": "compare", "leaveOrganization": "leave",
	}
	if name := short[id]; name != "" {
		return name
	}
	for _, verb := range []string{"list", "read"} {
		if name, ok := strings.CutPrefix(id, verb); ok {
			return strings.ToLower(name[:1]) + name[1:]
		}
	}
	return id
}

// snake spells a name as Python does.
func snake(name string) string { return strings.ToLower(hump.ReplaceAllString(name, "${1}_$2")) }

// camel spells a name as TypeScript does.
func camel(name string) string { return lower(pascal(name)) }

// pascal puts the words of a name together, each with a capital.
func pascal(name string) string {
	var made strings.Builder
	between := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(strings.ToLower(name), between) {
		made.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return made.String()
}

// goName spells a name as Go does.
func goName(name string) string {
	var made strings.Builder
	for word := range strings.SplitSeq(strings.ToLower(name), "_") {
		switch word {
		case "api", "cli", "id", "ms", "sha256", "url":
			made.WriteString(strings.ToUpper(word))
		default:
			made.WriteString(pascal(word))
		}
	}
	return made.String()
}
