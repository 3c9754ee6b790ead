package cli

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// Each of these settings is valid by itself, and breaks an installation all the same.
func TestDoctorNamesSettingsThatBreakAnInstallation(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for name, c := range map[string]struct{ settings, want []string }{
		"AddressOfNobody": {
			[]string{"SV_BASE_URL=http://127.0.0.1:1"}, []string{"does not answer at SV_BASE_URL", "refused"},
		},
		"AddressOfAnotherService": {
			[]string{"SV_BASE_URL=" + other.URL}, []string{"answers 404"},
		},
		"AddressOfThisMachineForOthers": {
			[]string{"SV_BASE_URL=http://" + s.Address, "SV_ADDR=0.0.0.0:8000"},
			[]string{"is an address of this machine"},
		},
		"EveryNetwork": {[]string{"SV_EXTERNAL_ALLOW=0.0.0.0/0"}, []string{"lets workflows call 0.0.0.0/0"}},
		"NoPrograms":   {[]string{"SV_PROGRAMS=" + t.TempDir()}, []string{"the programs ids, parquet, schematron"}},
		"MetadataService": {
			[]string{"SV_EXTERNAL_ALLOW=169.254.0.0/16"}, []string{"lets workflows call 169.254.0.0/16"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer, c.settings...)
			d.run(t.Context(), "doctor").want(t, 0, append([]string{"SV114  warning"}, c.want...)...)
		})
	}

	t.Run("IsContentWithSensibleOnes", func(t *testing.T) {
		t.Parallel()
		setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer, "SV_BASE_URL=http://"+s.Address,
			"SV_EXTERNAL_ALLOW=10.20.0.0/16").run(t.Context(), "doctor").want(t, 0, "SV114  ok")
	})
}

func TestDoctorComparesConnectionsWithThoseOfTheServer(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	other := &fixture.Stage{DB: coretest.OpenDatabase(t)}
	other.Process(t, "web-1", fixture.Version, 0)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer,
		"DATABASE_URL="+other.DB.Pool.Config().ConnString(), "SV_DB_MAX_CONNS=1000")
	d.run(t.Context(), "doctor").want(t, 3, "SV114  warning", "1 processes may open 1000 connections each")
}

func TestDoctorNamesAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	database := coretest.OpenDatabase(t)
	config := database.Pool.Config()
	if _, err := database.Pool.Exec(t.Context(),
		`ALTER DATABASE "`+config.ConnConfig.Database+`" SET default_transaction_read_only = on`); err != nil {
		t.Fatal(err)
	}
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer, "DATABASE_URL="+config.ConnString())
	d.run(t.Context(), "doctor").want(t, 3, "SV110  error", "read-only", "lead to the primary")
}
