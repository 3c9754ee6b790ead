package xmltext

import "testing"

func TestPlainPatterns(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		`[a-c]\[x-[^y]]`:       `[a-c]\[x-[^y]]`,
		`x[a-f-[^ce\-]]+\P{L}`: `x[ce]+\P{L}`,
		`[\P{IsBasicLatin}a-]`: "[\\-a\u0080-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]",
		`[^\P{IsBasicLatin}]`:  "[\\t-\\n\\r -\u007f]",
		`[+-9-[-.0-8-[4]]]{2}`: `[\+-,/49]{2}`,
		`[a-[^b-[b]]]`:         `[a-[a]]`,
		`[\P{Nothing}]`:        `[\P{Nothing}]`,
		`[^\P{L}`:              `[^\P{L}`,
		`[a-z-[aeiou]]\`:       `[a-z-[aeiou]]\`,
	}
	for pattern, want := range tests {
		if got := plainPattern(pattern); got != want {
			t.Errorf("plain pattern of %s = %q, want %q", pattern, got, want)
		}
	}
}
