package idemcheck

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Case is one promise about keys and how it is tried.
type Case struct {
	// Name is the topic and the promise, like replay/body.
	Name string `json:"name"`
	// Does says what is sent, and Holds what must hold then.
	Does  string `json:"does"`
	Holds string `json:"holds"`
	// Harm is what a failure means to those who use the API.
	Harm string `json:"harm"`
	// Source is who promises it.
	Source string            `json:"source"`
	Levels map[Profile]Level `json:"levels"`
	// Requests is the most that are sent, for each of those of the description that the case needs.
	Requests int `json:"requests"`
	// Needs is a part of the description; empty where every description will do.
	Needs string `json:"needs,omitempty"`
	// Alone are cases that disturb the others.
	Alone bool `json:"alone,omitempty"`
}

//go:embed cases.yaml
var casesFile []byte

// Cases lists the cases in the order of reports.
func Cases() []Case {
	var file struct {
		Texts []string
		Cases []Case
	}
	if err := yaml.Unmarshal(casesFile, &file); err != nil {
		panic(fmt.Sprintf("the embedded cases are wrong: %v", err))
	}
	return file.Cases
}

// tries are what the cases do, by name. The error says what does not hold.
func tries() map[string]func(*trial) error {
	all := make(map[string]func(*trial) error)
	for _, some := range []map[string]func(*trial) error{
		triesOfKeys(), triesOfReplays(), triesOfMismatches(), triesOfRaces(), triesOfTenants(), triesOfErrors(),
		triesOfNetworks(), triesOfLives(),
	} {
		maps.Copy(all, some)
	}
	return all
}

// given is how many parts of a description a case can use. It cannot be tried with none.
func (c Case) given(d *Description) int {
	switch c.Needs {
	case "":
		return 1
	case "body", "path", "query", "method", "type":
		return len(d.changed(c.Needs))
	case "spellings":
		return len(d.spellings())
	case "refused":
		return len(d.Refused)
	}
	if map[string]bool{
		"failing": d.Failing != nil, "slow": d.Slow != nil, "tenant": d.Tenant != nil, "user": d.User != nil,
		"also": d.Also != "", "restart": d.Hooks.Restart != "", "lifetime": d.Key.Lifetime > 0,
		"later": d.Limits.Later > 0, "filler": strings.Contains(*d.Request.Body, "{{filler"),
	}[c.Needs] {
		return 1
	}
	return 0
}

// lacks says what a description has to have for the case.
func (c Case) lacks() string {
	switch c.Needs {
	case "body", "path", "query", "method", "type":
		return "the description has no request with another " + c.Needs + " in different"
	case "spellings":
		return "the body is no JSON object, and the description has no same"
	default:
		return "the description has no " + cmp.Or(map[string]string{
			"restart": "hooks.restart", "lifetime": "key.lifetime", "later": "limits.later", "filler": "{{filler}}",
		}[c.Needs], c.Needs)
	}
}

// waits is how long the case waits by itself.
func (c Case) waits(d *Description) time.Duration {
	switch c.Needs {
	case "lifetime":
		return 2 * time.Duration(d.Key.Lifetime)
	case "later":
		return time.Duration(d.Limits.Later)
	default:
		return 0
	}
}
