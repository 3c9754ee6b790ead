package config

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/simplevalidations/simplevalidations/docs"
)

func TestLoadSettings(t *testing.T) {
	t.Parallel()

	t.Run("DefaultsAreValid", func(t *testing.T) {
		t.Parallel()
		settings, unknown, err := LoadSettings(nil)
		if err != nil || len(unknown) > 0 {
			t.Fatalf("unknown %v, err %v, want neither", unknown, err)
		}
		if settings.Addr != "127.0.0.1:8000" || settings.LocalRuns != 256 {
			t.Errorf("settings = %+v, want the documented defaults", settings)
		}
	})

	t.Run("ReportsAllErrorsAtOnce", func(t *testing.T) {
		t.Parallel()
		_, _, err := LoadSettings([]string{"SV_ADDR=nowhere", "SV_RUN_LEASE=soon", "SV_WORKERS=0", "SV_LOG_FORMAT=xml"})
		if _, ok := errors.AsType[*UsageError](err); !ok {
			t.Fatalf("err = %v, want a usage error", err)
		}
		for _, part := range []string{"SV_ADDR", "SV_RUN_LEASE", "SV_WORKERS", "SV_LOG_FORMAT"} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("err = %q, want it to name %s", err, part)
			}
			if strings.Count(err.Error(), part) > 1 {
				t.Errorf("err = %q, want it to name %s once", err, part)
			}
		}
	})

	for setting, want := range map[string]string{
		"SV_ADDR=nowhere":                     "SV_ADDR must be a host and a port, like 127.0.0.1:8000",
		"SV_RUN_LEASE=30":                     `SV_RUN_LEASE is "30", but must be a time like 500ms, 30s or 24h`,
		"SV_WORKERS=many":                     `SV_WORKERS is "many", but must be a whole number without a unit`,
		"SV_ENGINE_MEMORY=1GiB":               `SV_ENGINE_MEMORY is "1GiB", but must be a whole number without a unit`,
		"SV_REQUESTS_PER_SECOND=few":          `SV_REQUESTS_PER_SECOND is "few", but must be a number like 100 or 0.5`,
		"SV_OIDC_CREATE_USERS=yes":            `SV_OIDC_CREATE_USERS is "yes", but must be true or false`,
		"SV_TRUSTED_PROXIES=10.0.0.5":         `SV_TRUSTED_PROXIES is "10.0.0.5", but must be networks like 10.20`,
		"SV_SMTP_URL=smtp://mail":             "SV_MAIL_FROM is needed with SV_SMTP_URL",
		"SV_SMTP_URL=mail:25":                 "SV_SMTP_URL is not usable: not like smtp://user:password@host:587",
		"SV_CELL=Cell-1":                      "SV_CELL must be up to 16 lower-case letters and digits",
		"SV_BASE_URL=https://example.org/app": "SV_BASE_URL must end with the host or its port",

		"SV_BILLING_URL=billing SV_BILLING_SECRET=x": "SV_BILLING_URL must",
		"DATABASE_DIRECT_URL=postgres://db/app":      "DATABASE_DIRECT_URL needs DATABASE_URL",

		"DATABASE_URL=postgres://pooler/app DATABASE_DIRECT_URL=postgres://db:port/app": "DATABASE_DIRECT_URL is not",
	} {
		t.Run("ItIsToldWhatASettingLooksLike "+setting, func(t *testing.T) {
			t.Parallel()
			_, _, err := LoadSettings(strings.Fields(setting))
			if err == nil || !strings.Contains(err.Error(), "\n  "+want) {
				t.Errorf("err = %v, want %s", err, want)
			}
		})
	}

	t.Run("ReportsWhatOtherPartsCannotRead", func(t *testing.T) {
		t.Parallel()
		_, _, err := LoadSettings([]string{
			"SV_PURGE_SCHEDULE=hourly", "REDIS_URL=cache", "DATABASE_URL=postgres://db/app?sslmode=sometimes",
			"SV_WORKERS=0", "SV_ADRR=127.0.0.1:1",
		})
		if _, ok := errors.AsType[*UsageError](err); !ok {
			t.Fatalf("err = %v, want a usage error", err)
		}
		for _, part := range []string{
			"SV_PURGE_SCHEDULE", "REDIS_URL", "redis://", "DATABASE_URL", "sslmode", "SV_WORKERS", "SV_ADRR",
		} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("err = %q, want it to name %s", err, part)
			}
		}
	})

	for _, address := range []string{
		"DATABASE_URL=postgres://app:sesame@db:port/app", "DATABASE_URL=postgres://app:sesame%zz@db/app",
		"DATABASE_URL=postgres://app:x/sesame@db/app", "DATABASE_URL=postgres://app:sesame/x@db/app",
		"DATABASE_URL=postgres://app:1/sesame@db/app?sslmode=bad", "DATABASE_URL=postgres://app:x@sesame@db:port/app",
		"DATABASE_URL=postgres://app:sesame@db/app?sslmode=bad", "DATABASE_URL=host=db password=sesame sslmode=bad",
		"DATABASE_URL=postgres://db/app?password=sesame&sslmode=bad",
		"DATABASE_URL=host=db password = sesame sslmode=bad",
		"REDIS_URL=redis://:sesame@cache:6379/db", "REDIS_URL=redis://:sesame/x@cache:6379/0",
		"REDIS_URL=http://:sesame@cache", "REDIS_URL=redis://:sesame%zz@cache",
		"REDIS_URL=redis-sentinel://:sesame@cache",
	} {
		t.Run("PasswordIsNotTold "+address, func(t *testing.T) {
			t.Parallel()
			_, _, err := LoadSettings([]string{address})
			if _, ok := errors.AsType[*UsageError](err); !ok {
				t.Fatalf("err = %v, want a usage error", err)
			}
			if name, _, _ := strings.Cut(address, "="); !strings.Contains(err.Error(), name) {
				t.Errorf("err = %q, want it to name %s", err, name)
			}
			if strings.Contains(err.Error(), "sesame") {
				t.Errorf("err = %q, want it without the password", err)
			}
		})
	}

	t.Run("UnknownVariablesAreListed", func(t *testing.T) {
		t.Parallel()
		_, unknown, err := LoadSettings([]string{"SV_ADRR=x", "SV_ADDR=127.0.0.1:1", "OTHER=1"})
		if diff := cmp.Diff([]string{"SV_ADRR"}, unknown); diff != "" || err != nil {
			t.Errorf("unknown (-want +got), err %v:\n%s", err, diff)
		}
	})
}

func TestSettingsTakeSeveralHosts(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://app:sesame@one:5432,two:5432/app?target_session_attrs=read-write",
		"postgres:///app?host=one,two&port=5432,5432&user=app&password=sesame&target_session_attrs=read-write",
	} {
		settings, _, err := LoadSettings([]string{"DATABASE_URL=" + address})
		if err != nil {
			t.Errorf("load %s: %v", address, err)
			continue
		}
		if shown := settings.DatabaseURL.String(); strings.Contains(shown, "sesame") {
			t.Errorf("shown = %s, want it without the password", shown)
		}
	}
}

func TestSettingsPrint(t *testing.T) {
	t.Parallel()
	settings, _, err := LoadSettings([]string{
		"DATABASE_URL=postgres://app:sesame@db/app?password=sesame", "REDIS_URL=redis://:sesame@cache:6379/0",
		"SV_BILLING_URL=https://us:sesame@billing/charges?token=sesame", "SV_BILLING_SECRET=key:sesame",
	})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := settings.Print(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "sesame") || !strings.Contains(out.String(), "cache:6379") ||
		!strings.Contains(out.String(), "billing/charges") {
		t.Errorf("printed %s, want the addresses without their passwords", out.String())
	}
}

// settingRow matches a row of the table of settings: the name, the default and the meaning.
func settingRow() *regexp.Regexp {
	return regexp.MustCompile("(?m)^\\| `([A-Z_]+)` \\| (.*?) \\| (.+) \\|$")
}

func TestSettingsAreDocumented(t *testing.T) {
	t.Parallel()
	page, ok := docs.Page("guides/configuration")
	if !ok {
		t.Fatal("there is no page on configuration")
	}
	var documented []settingValue
	for _, match := range settingRow().FindAllStringSubmatch(string(page), -1) {
		documented = append(documented, settingValue{name: match[1], fallback: strings.Trim(match[2], "` ")})
	}
	for _, setting := range describe(Settings{}) {
		want := settingValue{name: setting.name, fallback: setting.fallback}
		if setting.name == "SV_ENGINE_MEMORY" {
			want.fallback = "512 MiB, or a quarter of the container's memory"
		}
		if !slices.Contains(documented, want) {
			t.Errorf("the page has no row for %s with the default %q", want.name, want.fallback)
		}
	}
	if got, want := len(documented), len(describe(Settings{})); got != want {
		t.Errorf("the page documents %d settings, want %d", got, want)
	}
}

// TestEverySettingIsRead fails where nothing is done with what an operator has set.
func TestEverySettingIsRead(t *testing.T) {
	t.Parallel()
	var wiring []byte
	for _, pattern := range []string{"*.go", "cmd/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasPrefix(file, "settings_") || strings.HasSuffix(file, "_test.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wiring = append(wiring, source...)
		}
	}
	for field := range reflect.TypeFor[Settings]().Fields() {
		if !regexp.MustCompile(`\.` + field.Name + `\b`).Match(wiring) {
			t.Errorf("nothing reads %s", field.Tag.Get("env"))
		}
	}
}
