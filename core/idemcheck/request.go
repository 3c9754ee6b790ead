package idemcheck

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// message is a request of a trial. Its methods return changed copies.
type message struct {
	Change

	// keys are the lines of the key's header; none where it is not sent.
	keys []string
	// base is the process or the proxy that the message goes to.
	base string
	// chunked messages do not say how long they are, and fresh ones have a connection of their own.
	chunked, fresh bool
	values         values
}

// values replace the names in braces.
type values struct{ ref, filler string }

func (v values) fill(text string) string {
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(v.ref))
	return value.ReplaceAllStringFunc(text, func(found string) string {
		switch strings.Trim(found, "{} \t") {
		case "ref":
			return v.ref
		case "uuid":
			return id.String()
		case "number":
			return strconv.FormatUint(uint64(id.ID())|1<<31, 10) // It has ten digits.
		default:
			return v.filler
		}
	})
}

func (m message) with(c Change) message       { m.Change = c.over(m.Change); return m }
func (m message) key(lines ...string) message { m.keys = lines; return m }
func (m message) to(base string) message      { m.base = base; return m }
func (m message) about(ref string) message    { m.values.ref = ref; return m }
func (m message) inChunks() message           { m.chunked = true; return m }
func (m message) alone() message              { m.fresh = true; return m }
func (m message) filled(with string) message  { m.values.filler = with; return m }

// request makes the request that is sent. It has no GetBody: otherwise the transport would send it again by itself, as
// it does with each request that has an idempotency key.
func (m message) request(
	ctx context.Context, header string, lookup func(string) (string, bool),
) (*http.Request, error) {
	fill := func(text string) string { return expand(m.values.fill(text), lookup) }
	to, err := addressOf(m.base, fill(m.URL))
	if err != nil {
		return nil, err
	}
	body := []byte(fill(*m.Body))
	request, err := http.NewRequestWithContext(ctx, m.Method, to.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.GetBody, request.Close = nil, m.fresh
	if m.chunked {
		request.ContentLength = -1
	}
	for name, text := range m.Headers {
		request.Header.Set(name, fill(text))
	}
	if len(m.keys) > 0 {
		request.Header[http.CanonicalHeaderKey(header)] = slices.Clone(m.keys)
	}
	return request, nil
}

// addressOf is where a request goes to. What is no whole address is below the path of the base. The proxy and the other
// process are elsewhere, also where the description has the whole address.
func addressOf(base, address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		return url.Parse(below(base, address))
	}
	from, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(address)
	if err == nil && from.Host != "" {
		to.Scheme, to.Host = from.Scheme, from.Host
	}
	return to, err
}

func below(base, path string) string {
	return strings.TrimRight(base, "/") + "/" + strings.TrimPrefix(path, "/")
}

// expand replaces the variables of the environment.
func expand(text string, lookup func(string) (string, bool)) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string {
		set, _ := lookup(found[2 : len(found)-1])
		return set
	})
}

// shownBody is how much of a body is shown.
const shownBody = 400

// curl is the command that sends the message. Variables of the environment stay names.
func (m message) curl(header string) string {
	var line strings.Builder
	to := m.values.fill(m.URL)
	if !strings.Contains(to, "://") {
		to = below(m.base, to)
	}
	fmt.Fprintf(&line, "curl -i -X %s %s", m.Method, quoted(to))
	for _, name := range slices.Sorted(maps.Keys(m.Headers)) {
		fmt.Fprintf(&line, " -H %s", quoted(name+": "+m.values.fill(m.Headers[name])))
	}
	for _, key := range m.keys {
		shown := header + ": " + key
		if key == "" {
			shown = header + ";"
		}
		fmt.Fprintf(&line, " -H %s", quoted(shown))
	}
	if m.chunked {
		line.WriteString(" -H 'Transfer-Encoding: chunked'")
	}
	if body := m.values.fill(*m.Body); len(body) > shownBody {
		fmt.Fprintf(&line, " --data-binary @- # a body of %d bytes", len(body))
	} else if body != "" {
		fmt.Fprintf(&line, " --data-binary %s", quoted(body))
	}
	return line.String()
}

// quoted is a word of a shell in which only ${NAME} is still a variable.
func quoted(text string) string {
	return variable.ReplaceAllString("'"+strings.ReplaceAll(text, "'", `'\''`)+"'", `'"$${$1}"'`)
}
