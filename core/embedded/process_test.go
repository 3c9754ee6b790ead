package embedded

import (
	"os"
	"testing"
)

func TestServes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args []string
		want bool
	}{
		"Ours":         {args: []string{"/usr/bin/postgres", "-D", "/data", "-c", "port=5432"}, want: true},
		"OtherFolder":  {args: []string{"/usr/bin/postgres", "-D", "/data2"}},
		"OtherProgram": {args: []string{"/usr/bin/initdb", "-D", "/data"}},
		"NoFolder":     {args: []string{"/usr/bin/postgres", "-D"}},
		"NoArguments":  {},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := serves(tt.args, "/data"); got != tt.want {
				t.Errorf("serves(%q) = %t, want %t", tt.args, got, tt.want)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if got := inspect(t.Context(), os.Getpid(), dir); got != foreign {
		t.Errorf("standing of this process = %d, want %d", got, foreign)
	}
	if got := inspect(t.Context(), 1<<30, dir); got != gone {
		t.Errorf("standing of no process = %d, want %d", got, gone)
	}
}
