package engine

import (
	"strconv"
	"strings"
)

// Numbers beyond these bounds have no place in a double and would cost exact arithmetic too much.
const (
	MaxNumberChars = 1000
	maxExponent    = 308
)

// NumberInRange reports whether a literal fits a double and is short enough for exact arithmetic.
func NumberInRange(literal string) bool {
	if len(literal) > MaxNumberChars {
		return false
	}
	if at := strings.IndexAny(literal, "eE"); at >= 0 {
		exponent, err := strconv.Atoi(literal[at+1:])
		if err != nil || exponent > maxExponent || exponent < -maxExponent {
			return false
		}
	}
	_, err := strconv.ParseFloat(literal, 64)
	return err == nil
}
