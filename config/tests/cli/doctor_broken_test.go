package cli

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/coretest"
	"github.com/simplevalidations/simplevalidations/core/coretest/pgproxy"
)

// Each of these keeps an installation from working, or may do so, and the check that is about it says so.
func TestDoctorNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	address := "http://" + s.Address
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	for name, c := range map[string]struct {
		settings environ
		// want begins with the outcome of a check, which is an error where the command fails.
		want []string
	}{
		"WrongUserOrPassword": {
			elsewhere(func(u *url.URL) {
				query := u.Query()
				query.Set("user", "stranger")
				u.User, u.RawQuery = url.User("stranger"), query.Encode()
			}), []string{"SV110  error", "correct the user or the password in DATABASE_URL"},
		},
		"MissingDatabase": {
			elsewhere(func(u *url.URL) { u.Path = "/nothing" }),
			[]string{"SV110  error", "create the database, or correct its name in DATABASE_URL"},
		},
		"NoConnectionLeft": {
			asStranger("CONNECTION LIMIT 0"),
			[]string{"SV110  error", "raise max_connections or the limit of the role"},
		},
		"RoleWithoutRights": {
			asStranger(""),
			[]string{"SV110  error", "permission denied", "give the role of DATABASE_URL its rights"},
		},
		"ServerWithoutTLS": {
			func(tb testing.TB) []string {
				tb.Helper()
				proxy := pgproxy.Start(tb, coretest.DatabaseURL(tb))
				return []string{"DATABASE_URL=" + strings.ReplaceAll(proxy.URL(), "sslmode=disable", "sslmode=require")}
			}, []string{"SV110  error", "correct sslmode"},
		},
		"DirectURLOfAnotherDatabase": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{
					"DATABASE_URL=" + coretest.DatabaseURL(tb), "DATABASE_DIRECT_URL=" + coretest.DatabaseURL(tb),
				}
			}, []string{"SV110  error", "to another database", "correct DATABASE_DIRECT_URL"},
		},
		"OlderSchema": {
			onDatabase(`DELETE FROM goose_db_version
				WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`),
			[]string{"SV110  error", "older than this release", "migrate up"},
		},
		"ReadOnlyDatabase": {
			onDatabase(`ALTER DATABASE %s SET default_transaction_read_only = on`),
			[]string{"SV110  error", "read-only", "lead to the primary"},
		},
		"WrongPasswordOfRedis": {
			func(tb testing.TB) []string {
				tb.Helper()
				server := miniredis.RunT(tb)
				server.RequireAuth("sesame")
				return []string{"REDIS_URL=redis://:wrong@" + server.Addr()}
			}, []string{"SV111  error", "WRONGPASS", "set REDIS_URL"},
		},
		"RedisThatEvicts": {
			configured("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"),
			[]string{"SV111  error", "maxmemory-policy is allkeys-lru", "set maxmemory-policy to noeviction"},
		},
		"RedisThatIsFull": {
			configured("CONFIG", "SET", "maxmemory", "1"), []string{"SV111  error", "OOM", "raise its maxmemory"},
		},
		"RedisThatIsAReplica": {
			configured("REPLICAOF", "127.0.0.1", "1"),
			[]string{"SV111  error", "READONLY", "let REDIS_URL lead to the primary"},
		},
		"SpellingMistakeAlone": {
			set("SV_WORKRES=8"), []string{"SV114  warning", "SV_WORKRES is not a setting"},
		},
		"AddressOfNobody": {
			set("SV_BASE_URL=http://127.0.0.1:1"),
			[]string{"SV114  warning", "does not answer at SV_BASE_URL", "refused"},
		},
		"AddressOfAnotherService": {set("SV_BASE_URL=" + other.URL), []string{"SV114  warning", "answers 404"}},
		"AddressOfThisMachineForOthers": {
			set("SV_BASE_URL="+address, "SV_ADDR=0.0.0.0:8000"),
			[]string{"SV114  warning", "is an address of this machine"},
		},
		"EveryNetwork": {
			set("SV_EXTERNAL_ALLOW=0.0.0.0/0"), []string{"SV114  warning", "lets workflows call 0.0.0.0/0"},
		},
		"MetadataService": {
			set("SV_EXTERNAL_ALLOW=169.254.0.0/16"),
			[]string{"SV114  warning", "lets workflows call 169.254.0.0/16"},
		},
		"NoPrograms": {
			set("SV_PROGRAMS=" + t.TempDir()), []string{"SV114  warning", "the programs ids, parquet, schematron"},
		},
		"NothingWithSensibleSettings": {
			set("SV_BASE_URL="+address, "SV_EXTERNAL_ALLOW=10.20.0.0/16"), []string{"SV114  ok"},
		},
		"MailServerThatIsDown": {
			set("SV_SMTP_URL=smtp://127.0.0.1:1", "SV_MAIL_FROM=from@b.example", "SV_BASE_URL="+address),
			[]string{"SV117  error", "connection refused", "correct SV_SMTP_URL"},
		},
		"ReceiverOfTracesThatIsDown": {
			set("SV_OTLP_ENDPOINT=http://127.0.0.1:1"),
			[]string{"SV118  warning", "connection refused", "correct SV_OTLP_ENDPOINT"},
		},
		"ReceiverOfSomethingElse": {set("SV_OTLP_ENDPOINT=" + address), []string{"SV118  warning", "404"}},
		"DatabaseThatForgets": {
			onDatabase(`ALTER DATABASE %s SET synchronous_commit = off`),
			[]string{"SV115  warning", "synchronous_commit"},
		},
		// A function of its own tells this database another time.
		"ClockOfTheDatabase": {
			onDatabase(`CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql
				AS $$ SELECT pg_catalog.clock_timestamp() + interval '25 hours' $$;
				ALTER DATABASE %s SET search_path = public, pg_catalog`),
			[]string{"SV113  warning", "25h0m", "set both clocks"},
		},
		"MoreConnectionsThanTheServerHas": {
			func(tb testing.TB) []string {
				tb.Helper()
				busy := fixture.Stage{DB: coretest.OpenDatabase(tb)}
				busy.Process(tb, "web-1", fixture.Version, 0)
				return []string{"DATABASE_URL=" + busy.DB.Pool.Config().ConnString(), "SV_DB_MAX_CONNS=1000"}
			}, []string{"SV112  error", "SV114  warning", "1 processes may open 1000 connections each"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code := 0
			if strings.HasSuffix(c.want[0], "error") {
				code = 3
			}
			d := setupDesk(t, address, s.Harbour.Tokens.Viewer, c.settings(t)...)
			d.run(t.Context(), "doctor").want(t, code, c.want...)
		})
	}
}

// Of three processes one at a time is dead, until another is started in its place.
func TestDoctorNamesDeadProcessesUntilTheyAreReplaced(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	for part, loop := range map[string]string{
		"web": "key activity", "worker": "completer", "scheduler": "",
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			other := &fixture.Stage{DB: coretest.OpenDatabase(t)}
			for _, role := range []string{"web", "worker", "scheduler"} {
				process(t, other, role, "1 day", map[bool]string{true: "2 minutes", false: alive}[role == part])
			}
			d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Viewer,
				"DATABASE_URL="+other.DB.Pool.Config().ConnString())
			want := []string{"SV112  error", "no process runs: ", part, "--only " + part}
			if loop != "" {
				want = append(want, loop)
			}
			silent := part + " process 42 on " + part + "-1 has sent no heartbeat"
			d.run(t.Context(), "doctor").want(t, 3, append(want, silent)...)

			process(t, other, part, "1 minute", alive)
			got := d.run(t.Context(), "doctor")
			got.want(t, 0, "SV112  ok", "3 alive, and all their loops pass")
			if strings.Contains(got.output, "no heartbeat") {
				t.Errorf("doctor says %s, want nothing of what was replaced", got.output)
			}
		})
	}
}

// alive is for how long a process that lives is silent. Its heartbeat lies ahead, so it counts as long as a test takes.
const alive = "-1 hour"

// process is one that plays a part with all its loops.
func process(tb testing.TB, s *fixture.Stage, part, started, silent string) {
	tb.Helper()
	id := uuid.New()
	s.Exec(tb, `INSERT INTO service_processes (id, host, pid, version, parts, started_at, seen_at)
		VALUES ($1, $2 || '-1', 42, $3, ARRAY[$2], now() - $4::interval, now() - $5::interval)`,
		id, part, fixture.Version, started, silent)
	loops := map[string][]string{
		"web":       {"enqueuer", "waiters", "key activity", "request log", "token last use"},
		"worker":    {"enqueuer", "sweeper", "completer", "uploads sweeper", "mails sweeper", "event publisher"},
		"scheduler": {"enqueuer"},
	}
	s.Exec(tb, `INSERT INTO service_loops
			(process_id, name, began_at, every, ended_at, done, total, failures, last_error)
		SELECT $1, unnest($2::text[]), seen_at, '500 ms', seen_at, 1, 1, 0, '' FROM service_processes WHERE id = $1`,
		id, loops[part])
}

// environ are settings of an installation in which something is broken.
type environ func(testing.TB) []string

func set(settings ...string) environ { return func(testing.TB) []string { return settings } }

// elsewhere leads to a database by another address.
func elsewhere(replaced func(*url.URL)) environ {
	return func(tb testing.TB) []string {
		tb.Helper()
		database, err := url.Parse(coretest.DatabaseURL(tb))
		if err != nil {
			tb.Fatal(err)
		}
		replaced(database)
		return []string{"DATABASE_URL=" + database.String()}
	}
}

// onDatabase has a database on which statements were executed, in which its name stands for %s.
func onDatabase(statements string) environ {
	return func(tb testing.TB) []string {
		tb.Helper()
		database := coretest.OpenDatabase(tb)
		name := `"` + database.Pool.Config().ConnConfig.Database + `"`
		if _, err := database.Pool.Exec(tb.Context(), strings.ReplaceAll(statements, "%s", name)); err != nil {
			tb.Fatal(err)
		}
		return []string{"DATABASE_URL=" + database.Pool.Config().ConnString()}
	}
}

// configured has a Redis that was given a command.
func configured(command ...any) environ {
	return func(tb testing.TB) []string {
		tb.Helper()
		address := coretest.Redis(tb)
		options, err := redis.ParseURL(address)
		if err != nil {
			tb.Fatal(err)
		}
		client := redis.NewClient(options)
		defer func() { _ = client.Close() }() // It has done its work.
		if err := client.Do(tb.Context(), command...).Err(); err != nil {
			tb.Fatal(err)
		}
		return []string{"REDIS_URL=" + address}
	}
}

// asStranger has a database as a role that may log in, with an option, and do nothing else.
func asStranger(option string) environ {
	return func(tb testing.TB) []string {
		tb.Helper()
		database := coretest.OpenDatabase(tb)
		config := database.Pool.Config().ConnConfig
		role := "stranger_" + config.Database
		if _, err := database.Pool.Exec(tb.Context(),
			`CREATE ROLE "`+role+`" LOGIN PASSWORD 'stranger' `+option); err != nil { // It goes with the server.
			tb.Fatal(err)
		}
		address, err := url.Parse(config.ConnString())
		if err != nil {
			tb.Fatal(err)
		}
		query := address.Query()
		query.Set("user", role)
		query.Set("password", "stranger")
		address.User, address.RawQuery = nil, query.Encode()
		return []string{"DATABASE_URL=" + address.String()}
	}
}
