package config

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/simplevalidations/simplevalidations/config/health"
	"github.com/simplevalidations/simplevalidations/tasks"
	"github.com/simplevalidations/simplevalidations/validations/engines"
)

// advice checks for settings that are valid but probably do not do what an operator wants. Its parts return an empty
// check where they find nothing.
func (e Examination) advice(ctx context.Context) health.Check {
	if e.Wrong != nil {
		return broken(e.Wrong.Error(), "fix them: the service does not start")
	}
	var lines, hints []string
	for _, name := range e.Unknown {
		lines = append(lines, name+" is not a setting")
		hints = append(hints, "look "+name+" up in the list of settings")
	}
	for _, check := range []func(context.Context) health.Check{
		e.baseURL, e.externalAllow, e.connections, e.programs,
	} {
		if found := check(ctx); found.Detail != "" {
			lines, hints = append(lines, found.Detail), append(hints, found.Hint)
		}
	}
	if len(lines) > 0 {
		return warning(strings.Join(lines, "; "), strings.Join(hints, "; "))
	}
	return fine("no problems")
}

func (e Examination) baseURL(ctx context.Context) health.Check {
	host, _, _ := net.SplitHostPort(e.Settings.Addr)
	address, err := url.Parse(e.Settings.BaseURL)
	switch {
	case e.Settings.BaseURL == "" && !isLoopback(host):
		return warning("SV_BASE_URL is not set, so links lead to "+e.Settings.Address(),
			"set SV_BASE_URL to the URL that clients use")
	case e.Settings.BaseURL == "" || err != nil:
		return health.Check{}
	case isLoopback(address.Hostname()) && !isLoopback(host):
		return warning("SV_BASE_URL is an address of this machine, but SV_ADDR accepts clients of others",
			"set SV_BASE_URL to the URL that clients use, or SV_ADDR to 127.0.0.1")
	case address.Scheme == "http" && !isLoopback(address.Hostname()):
		return warning("SV_BASE_URL has no TLS, so tokens and sessions can be intercepted",
			"put a proxy with TLS in front, and set SV_BASE_URL to its https:// address")
	}
	return e.reachable(ctx)
}

// reachable checks whether the service answers at SV_BASE_URL.
func (e Examination) reachable(ctx context.Context) health.Check {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, e.Settings.Address()+"/livez/", http.NoBody)
	if err != nil {
		return warning("SV_BASE_URL cannot be requested: "+err.Error(), "correct SV_BASE_URL")
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		err = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			err = fmt.Errorf("%s answers %s", request.URL, response.Status)
		}
	}
	if err != nil {
		return warning("the service does not answer at SV_BASE_URL: "+err.Error(),
			"correct SV_BASE_URL, or start the service or its proxy")
	}
	return health.Check{}
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// widestNetwork is how many bits a network of external validators has at least.
const widestNetwork = 8

func (e Examination) externalAllow(context.Context) health.Check {
	for _, network := range e.Settings.ExternalAllow {
		if network.Bits() < widestNetwork || network.Contains(netip.MustParseAddr("169.254.169.254")) {
			return warning("SV_EXTERNAL_ALLOW lets workflows call "+network.String()+
				", which includes services that are not meant for them",
				"list only the networks of your external validators in SV_EXTERNAL_ALLOW")
		}
	}
	return health.Check{}
}

// connections compares what the living processes may open with what the server accepts. Behind a pooler that is the
// pooler's concern.
func (e Examination) connections(ctx context.Context) health.Check {
	if e.DB == nil || e.Settings.DatabaseDirectURL != "" {
		return health.Check{}
	}
	processes, err := tasks.Processes(ctx, e.DB, health.MaxProcesses)
	if err != nil {
		return health.Check{} // SV110 says why.
	}
	var most int
	err = e.DB.Pool.QueryRow(ctx, `SELECT current_setting('max_connections')::int
		- current_setting('superuser_reserved_connections')::int`).Scan(&most)
	alive := len(health.Living(processes))
	if needed := alive * int(e.Settings.DBMaxConns); err == nil && needed > most {
		return warning(fmt.Sprintf("%d processes may open %d connections each, but the server accepts %d",
			alive, e.Settings.DBMaxConns, most),
			"raise max_connections, lower SV_DB_MAX_CONNS, or put PgBouncer in between")
	}
	return health.Check{}
}

// programs looks for the programs that carry validators of the product.
func (e Examination) programs(context.Context) health.Check {
	limits := engines.DefaultLimits()
	limits.Programs = cmp.Or(e.Settings.Programs, limits.Programs)
	missing := engines.MissingPrograms(limits)
	if len(missing) == 0 {
		return health.Check{}
	}
	return warning("steps that need the programs "+strings.Join(missing, ", ")+" cannot be executed, because "+
		limits.Programs+" does not have them",
		"put the programs of the release there, or set SV_PROGRAMS to their folder")
}
