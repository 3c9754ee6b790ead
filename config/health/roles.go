// Package health knows what has to run for a service to be well: the roles of its processes, their loops, and how a
// check of either is reported. App is the page on which operators see all of it, with the incidents and dead letters
// that they act on.
package health

import (
	"errors"
	"slices"
	"strings"
)

// Role is a part of the service.
type Role string

// The roles.
const (
	Web       Role = "web"
	Worker    Role = "worker"
	Scheduler Role = "scheduler"
)

// Roles are the parts of the service that a process plays, in the order of AllRoles.
type Roles []Role

// AllRoles are those of a process that does everything.
func AllRoles() Roles { return Roles{Web, Worker, Scheduler} }

// ParseRoles reads the value of --only. None means all.
func ParseRoles(names []string) (Roles, error) {
	if len(names) == 0 {
		return AllRoles(), nil
	}
	for _, name := range names {
		if !slices.Contains(AllRoles(), Role(name)) {
			return nil, errors.New("--only is one or more of web, worker and scheduler, not " + name)
		}
	}
	return slices.DeleteFunc(AllRoles(), func(r Role) bool { return !slices.Contains(names, string(r)) }), nil
}

// Plays reports whether the process plays the role.
func (rs Roles) Plays(r Role) bool { return slices.Contains(rs, r) }

// IsAll reports whether the process plays every role.
func (rs Roles) IsAll() bool { return len(rs) == len(AllRoles()) }

// Names returns the names of the roles, as they are in heartbeats.
func (rs Roles) Names() []string {
	names := make([]string, len(rs))
	for i, r := range rs {
		names[i] = string(r)
	}
	return names
}

// String names the roles in logs and metrics.
func (rs Roles) String() string {
	if rs.IsAll() {
		return "all"
	}
	return strings.Join(rs.Names(), ",")
}
