package account

import (
	"slices"
	"strings"
	"unicode"

	"github.com/trustelem/zxcvbn/frequency"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
)

// refuseCommon answers invalid_payload to a password that guesses begin with.
func refuseCommon(password string) error {
	if !isCommon(strings.ToLower(password)) {
		return nil
	}
	return core.InvalidPayload("The password is easy to guess. Choose another one, such as three words that nobody "+
		"else puts together.", api.FieldError{Pointer: "/password", Code: "common", Detail: "is easy to guess"})
}

// isCommon reports whether a password is one of the 30,000 that people use most, or the name of the service, with
// nothing but digits and signs around it; or something short that is repeated; or counts up or down.
func isCommon(password string) bool {
	word := strings.TrimFunc(password, func(r rune) bool { return !unicode.IsLetter(r) })
	known := frequency.FrequencyLists["passwords"]
	if word == "simplevalidations" || slices.Contains(known, password) || slices.Contains(known, word) {
		return true
	}
	for size := 1; size < MinPassword && size <= len(password)/2; size++ {
		if strings.HasPrefix(strings.Repeat(password[:size], len(password)/size+1), password) {
			return true
		}
	}
	steps := 0
	for i := 1; i < len(password); i++ {
		if step := int(password[i]) - int(password[i-1]); step >= -1 && step <= 1 {
			steps++
		}
	}
	return steps >= len(password)*2/3
}
