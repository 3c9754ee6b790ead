//go:build slow

package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

func TestRiver(t *testing.T) {
	t.Parallel()
	b := &bench{samples: samplesOf(t), dir: t.TempDir(), address: coretest.DatabaseURL(t)}
	t.Cleanup(func() {
		if err := b.end(t.Context(), 0); err != nil {
			t.Errorf("stop program: %v", err)
		}
	})
	river, err := b.startRiver(t.Context(), false)
	if err != nil {
		t.Fatalf("start program: %v", err)
	}
	if err := river.thawed(func() error {
		expectRefusals(t, river)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := river.check(t.Context()); err != nil {
		t.Errorf("check rows: %v", err)
	}
}

// expectRefusals sends requests that start nothing.
func expectRefusals(t *testing.T, p service) {
	t.Helper()
	c, err := dial(t.Context(), p.addresses[0])
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	defer c.close()
	first := p.tenants[0]
	used := keyPrefix + numbered(first.number)
	unknown := strings.Replace(first.head, secretPrefix, "sv_other-", 1)
	notTheirs := strings.Replace(first.head, startPath(1), startPath(2), 1)
	for name, tt := range map[string]struct {
		parts []string
		want  int
	}{
		"AnotherDocument": {[]string{first.head, used, tail("a,b\n")}, http.StatusUnprocessableEntity},
		"NoKey":           {[]string{first.head, first.tail}, http.StatusBadRequest},
		"UnknownToken":    {[]string{unknown, used, first.tail}, http.StatusUnauthorized},
		"NotTheirs":       {[]string{notTheirs, used, first.tail}, http.StatusNotFound},
	} {
		got, err := c.send(tt.parts...)
		if err != nil || got.status != tt.want {
			t.Errorf("%s: status = %d, error = %v, want %d: %s", name, got.status, err, tt.want, got.body)
		}
	}
}
