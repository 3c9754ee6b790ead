package pages

import (
	"encoding/csv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
)

func TestKeysAreFoundByAPart(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, key := range []string{"Invoice-2026-11", "invoice_2026", "payroll"} {
		s.Started(t, s.Start(t, key))
	}
	viewer := s.Visitor(t, api.RoleViewer)
	list := func(query string) string {
		return s.see(t, harbour("keys/?"+query, viewer))
	}
	html := list("q=INVOICE")
	fixture.Shows(t, html, ">Invoice-2026-11</a>", ">invoice_2026</a>", "Contains: INVOICE")
	fixture.Hides(t, html, ">payroll</a>")
	html = list("q=e_2")
	fixture.Shows(t, html, ">invoice_2026</a>")
	fixture.Hides(t, html, ">Invoice-2026-11</a>")
	html = list("q=invoice&state=finished")
	fixture.Shows(t, html, ">invoice_2026</a>",
		`href="?state=finished"><span class="unseen">Remove </span>Contains: invoice`,
		`href="?q=invoice"><span class="unseen">Remove </span>State: Finished`)
	fixture.Shows(t, list("q=nowhere"), "No key matches", `runs/?q=nowhere`)
}

func TestKeysAreExported(t *testing.T) {
	t.Parallel()
	s := setup(t)
	run := s.Started(t, s.Start(t, "=1+1"))
	s.Started(t, s.Start(t, "=1+1"))
	s.Started(t, s.Start(t, "other"))
	s.Flush(t)
	got := s.see(t, harbour("export-keys/?q=%2B1&state=finished", s.Visitor(t, api.RoleViewer)))
	rows, err := csv.NewReader(strings.NewReader(got)).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("rows = %q, %v, want a header and a key", rows, err)
	}
	if row := rows[1]; row[1] != "'=1+1" || row[3] != "finished" || row[4] != run.ID || row[6] != "1" {
		t.Errorf("row = %q, want the escaped key of run %s with 1 replay", row, run.ID)
	}
}
