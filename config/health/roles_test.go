package health

import (
	"slices"
	"testing"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		only  []string
		name  string
		plays Roles
	}{
		{nil, "all", AllRoles()},
		{[]string{"web"}, "web", Roles{Web}},
		{[]string{"scheduler", "worker", "worker"}, "worker,scheduler", Roles{Worker, Scheduler}},
		{[]string{"worker", "scheduler", "web"}, "all", AllRoles()},
	} {
		got, err := ParseRoles(c.only)
		if err != nil || got.String() != c.name || !slices.Equal(got, c.plays) {
			t.Errorf("parts of %v = %v, called %s (%v), want %v, called %s", c.only, got, got, err, c.plays, c.name)
		}
	}
}
