package config

import (
	"slices"
	"strings"
)

// role is a part of the service.
type role string

const (
	roleWeb       role = "web"
	roleWorker    role = "worker"
	roleScheduler role = "scheduler"
)

// roles are the parts of the service that a process plays, in the order of allRoles.
type roles []role

func allRoles() roles { return roles{roleWeb, roleWorker, roleScheduler} }

// parseRoles reads the value of --only. None means all.
func parseRoles(names []string) (roles, error) {
	if len(names) == 0 {
		return allRoles(), nil
	}
	for _, name := range names {
		if !slices.Contains(allRoles(), role(name)) {
			return nil, &UsageError{Reason: "--only is one or more of web, worker and scheduler, not " + name}
		}
	}
	return slices.DeleteFunc(allRoles(), func(r role) bool { return !slices.Contains(names, string(r)) }), nil
}

// plays reports whether the process plays the role.
func (rs roles) plays(r role) bool { return slices.Contains(rs, r) }

// isAll reports whether the process plays every role.
func (rs roles) isAll() bool { return len(rs) == len(allRoles()) }

// names returns the names of the roles, as they are in heartbeats.
func (rs roles) names() []string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = string(r)
	}
	return names
}

// String names the roles in logs and metrics.
func (rs roles) String() string {
	if rs.isAll() {
		return "all"
	}
	return strings.Join(rs.names(), ",")
}
