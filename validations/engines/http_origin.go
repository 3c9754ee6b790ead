package engines

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// HTTPOrigin returns the origin of the validator that an http step with this configuration calls: scheme, host and
// port. It returns false where the configuration is wrong.
func HTTPOrigin(config json.RawMessage) (string, bool) {
	var c httpConfig
	if len(engine.DecodeConfig(config, &c)) > 0 || urlFault(c.URL) != "" {
		return "", false
	}
	return origin(c.URL), true
}

// ParseOrigin returns the origin of an address that an http step may call, or "" and what is wrong with the address.
func ParseOrigin(address string) (string, string) {
	if fault := urlFault(address); fault != "" {
		return "", fault
	}
	return origin(address), ""
}

// origin expects an address that urlFault finds nothing wrong with. The default port is left out, and a host has lower
// case and no full stop at its end.
func origin(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	scheme := strings.ToLower(parsed.Scheme)
	host := strings.TrimSuffix(strings.ToLower(parsed.Hostname()), ".")
	port := strings.TrimLeft(parsed.Port(), "0")
	switch isDefault := port == map[string]string{"http": "80", "https": "443"}[scheme]; {
	case port != "" && !isDefault:
		host = net.JoinHostPort(host, port)
	case strings.Contains(host, ":"):
		host = "[" + host + "]"
	}
	return scheme + "://" + host
}
