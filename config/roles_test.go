package config

import (
	"slices"
	"testing"
)

func TestRoles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		only  []string
		name  string
		plays roles
	}{
		{nil, "all", allRoles()},
		{[]string{"web"}, "web", roles{roleWeb}},
		{[]string{"scheduler", "worker", "worker"}, "worker,scheduler", roles{roleWorker, roleScheduler}},
		{[]string{"worker", "scheduler", "web"}, "all", allRoles()},
	} {
		got, err := parseRoles(c.only)
		if err != nil || got.String() != c.name || !slices.Equal(got, c.plays) {
			t.Errorf("parts of %v = %v, called %s (%v), want %v, called %s", c.only, got, got, err, c.plays, c.name)
		}
	}
}
