package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/validations/external"
)

const (
	// maxSchemaFile bounds a file of a bundle. Steps take less, and say so.
	maxSchemaFile = 8 << 20
	// maxRedirects bounds how often an address may lead to another one.
	maxRedirects = 5
	fetchTime    = 30 * time.Second
)

// source is where a schema comes from: a file, or an address.
type source struct {
	path    string
	address *url.URL
}

func (s source) isRemote() bool { return s.address != nil }

// String names the source as people know it.
func (s source) String() string {
	if s.isRemote() {
		return s.address.String()
	}
	return s.path
}

func (s source) exists() bool {
	_, err := os.Stat(s.path)
	return err == nil
}

// at returns where a reference leads that stands in the source.
func (s source) at(reference string) (source, error) {
	target, err := url.Parse(reference)
	if err != nil {
		return source{}, fmt.Errorf("%q is not an address", reference)
	}
	target.Fragment, target.RawFragment = "", ""
	switch {
	case s.isRemote():
		target = s.address.ResolveReference(target)
	case !target.IsAbs() && target.Host == "":
		path := filepath.FromSlash(target.Path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(s.path), path)
		}
		return source{path: path}, nil
	}
	if target.Scheme != "https" && target.Scheme != "http" {
		return source{}, fmt.Errorf("%s is neither a path nor a web address", target)
	}
	return source{address: target}, nil
}

// fetcher reads files, and addresses of allowed hosts.
type fetcher struct {
	hosts         []string
	tell          func(line string)
	secure, plain *http.Client
}

func newFetcher(hosts []string, tell func(line string)) *fetcher {
	policy := external.NewPolicy(nil)
	return &fetcher{hosts: hosts, tell: tell, secure: policy.Client(true, false), plain: policy.Client(false, false)}
}

func (f *fetcher) read(ctx context.Context, from source) ([]byte, error) {
	f.tell("reading " + from.String())
	if from.isRemote() {
		ctx, cancel := context.WithTimeout(ctx, fetchTime)
		defer cancel()
		return f.get(ctx, from.address)
	}
	file, err := os.Open(from.path)
	if err != nil {
		return nil, cli.Misuse("%v", err)
	}
	content, err := readAtMost(file)
	return content, errors.Join(err, file.Close())
}

func readAtMost(from io.Reader) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, maxSchemaFile+1))
	if err == nil && len(content) > maxSchemaFile {
		err = fmt.Errorf("it has more than %d bytes", maxSchemaFile)
	}
	return content, err
}

// get fetches an address, and what it redirects to. Each host must be allowed.
func (f *fetcher) get(ctx context.Context, address *url.URL) ([]byte, error) {
	for range maxRedirects {
		isHost := func(host string) bool { return strings.EqualFold(host, address.Hostname()) }
		if !slices.ContainsFunc(f.hosts, isHost) {
			return nil, fmt.Errorf("%s is not fetched: allow it with --allow-host %s", address, address.Hostname())
		}
		answer, err := f.ask(ctx, address)
		if err != nil {
			return nil, fmt.Errorf("fetch %s: %w", address, err)
		}
		next, err := answer.Location()
		if isRedirect := answer.StatusCode/100 == http.StatusMultipleChoices/100; isRedirect && err == nil {
			_ = answer.Body.Close() // Nothing of it was wanted.
			f.tell("redirected to " + next.String())
			address = next
			continue
		}
		content, err := readAtMost(answer.Body)
		err = errors.Join(err, answer.Body.Close())
		if answer.StatusCode != http.StatusOK {
			err = fmt.Errorf("the answer is %s", answer.Status)
		}
		if err != nil {
			return nil, fmt.Errorf("fetch %s: %w", address, err)
		}
		return content, nil
	}
	return nil, fmt.Errorf("fetch %s: it redirects more than %d times", address, maxRedirects)
}

func (f *fetcher) ask(ctx context.Context, address *url.URL) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "application/schema+json, application/json, application/yaml, application/xml, */*")
	switch address.Scheme {
	case "https":
		return f.secure.Do(request)
	case "http":
		return f.plain.Do(request)
	default:
		return nil, errors.New("it is not a web address")
	}
}
