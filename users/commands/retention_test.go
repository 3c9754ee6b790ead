package commands_test

import (
	"strings"
	"testing"
)

func TestSetRetentionCommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.org(t)
	const stored = `
		SELECT coalesce(content_retention::text, '-') || ' ' || coalesce(findings_retention::text, '-')
		FROM organizations`
	for _, tt := range []struct{ flags, want, said string }{
		{"--content 72h --findings 2160h", "72:00:00 2160:00:00", "documents 72h0m0s, findings 2160h0m0s"},
		{"--content forever --findings default", "00:00:00 -", "documents forever, findings by default"},
		{"--content default --findings 1h", "- 01:00:00", "documents by default, findings 1h0m0s"},
		{"--content default --findings default", "- -", "documents by default, findings by default"},
	} {
		out := b.mustRun(t, append([]string{"org", "set-retention", "acme"}, strings.Fields(tt.flags)...)...)
		if want := "acme: " + tt.said + "\n"; out != want {
			t.Errorf("%q printed %q, want %q", tt.flags, out, want)
		}
		if got := one[string](t, b, stored); got != tt.want {
			t.Errorf("%q stored %q, want %q", tt.flags, got, tt.want)
		}
	}
	for _, wrong := range []string{"59m", "-72h", "0", "soon", "900000h"} {
		b.wantError(t, nil, "org", "set-retention", "acme", "--findings", "default", "--content", wrong)
	}
	b.wantError(t, nil, "org", "set-retention", "acme", "--content", "1h")
	b.wantError(t, nil, "org", "set-retention", "acme", "--findings", "1h")
	const audits = `SELECT count(*) FROM audit_records WHERE action = 'organization.set_retention'`
	if got := one[int64](t, b, audits); got != 4 {
		t.Errorf("audit records = %d, want 4", got)
	}
}
