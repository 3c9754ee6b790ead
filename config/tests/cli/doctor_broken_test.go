package cli

import (
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

// Each of these keeps an installation from working, and the check that is about it says so. What is broken otherwise is
// in TestDoctor and in the tests of settings.
func TestDoctorNamesWhatIsBroken(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	address, token := "http://"+s.Address, s.Harbour.Tokens.Viewer
	elsewhere := func(tb testing.TB, replaced func(*url.URL)) string {
		tb.Helper()
		database, err := url.Parse(coretest.DatabaseURL(tb))
		if err != nil {
			tb.Fatal(err)
		}
		replaced(database)
		return "DATABASE_URL=" + database.String()
	}
	for name, c := range map[string]struct {
		settings func(testing.TB) []string
		code     int
		want     []string
	}{
		"WrongUserOrPassword": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{elsewhere(tb, func(u *url.URL) {
					query := u.Query()
					query.Set("user", "stranger")
					u.User, u.RawQuery = url.User("stranger"), query.Encode()
				})}
			}, 3, []string{"SV110  error", "correct the user or the password in DATABASE_URL"},
		},
		"MissingDatabase": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{elsewhere(tb, func(u *url.URL) { u.Path = "/nothing" })}
			}, 3, []string{"SV110  error", "create the database, or correct its name in DATABASE_URL"},
		},
		"NoConnectionLeft": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{asStranger(tb, "CONNECTION LIMIT 0")}
			}, 3, []string{"SV110  error", "raise max_connections or the limit of the role"},
		},
		"RoleWithoutRights": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{asStranger(tb, "")}
			}, 3, []string{"SV110  error", "permission denied", "give the role of DATABASE_URL its rights"},
		},
		"ServerWithoutTLS": {
			func(tb testing.TB) []string {
				tb.Helper()
				proxy := pgproxy.Start(tb, coretest.DatabaseURL(tb))
				return []string{"DATABASE_URL=" + strings.ReplaceAll(proxy.URL(), "sslmode=disable", "sslmode=require")}
			}, 3, []string{"SV110  error", "correct sslmode"},
		},
		"DirectURLOfAnotherDatabase": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{
					"DATABASE_URL=" + coretest.DatabaseURL(tb), "DATABASE_DIRECT_URL=" + coretest.DatabaseURL(tb),
				}
			}, 3, []string{"SV110  error", "to another database", "correct DATABASE_DIRECT_URL"},
		},
		"WrongPasswordOfRedis": {
			func(tb testing.TB) []string {
				tb.Helper()
				server := miniredis.RunT(tb)
				server.RequireAuth("sesame")
				return []string{"REDIS_URL=redis://:wrong@" + server.Addr()}
			}, 3, []string{"SV111  error", "WRONGPASS", "set REDIS_URL"},
		},
		"RedisThatEvicts": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{"REDIS_URL=" + configured(tb, "CONFIG", "SET", "maxmemory-policy", "allkeys-lru")}
			}, 3, []string{"SV111  error", "maxmemory-policy is allkeys-lru", "set maxmemory-policy to noeviction"},
		},
		"RedisThatIsFull": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{"REDIS_URL=" + configured(tb, "CONFIG", "SET", "maxmemory", "1")}
			}, 3, []string{"SV111  error", "OOM", "raise its maxmemory"},
		},
		"RedisThatIsAReplica": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{"REDIS_URL=" + configured(tb, "REPLICAOF", "127.0.0.1", "1")}
			}, 3, []string{"SV111  error", "READONLY", "let REDIS_URL lead to the primary"},
		},
		"SpellingMistakeAlone": {
			func(testing.TB) []string {
				return []string{"SV_WORKRES=8"}
			}, 0, []string{"SV114  warning", "SV_WORKRES is not a setting"},
		},
		"MailServerThatIsDown": {
			func(testing.TB) []string {
				return []string{
					"SV_SMTP_URL=smtp://127.0.0.1:1", "SV_MAIL_FROM=from@b.example", "SV_BASE_URL=" + address,
				}
			}, 3, []string{"SV117  error", "connection refused", "correct SV_SMTP_URL"},
		},
		"ReceiverOfTracesThatIsDown": {
			func(testing.TB) []string {
				return []string{"SV_OTLP_ENDPOINT=http://127.0.0.1:1"}
			}, 0, []string{"SV118  warning", "connection refused", "correct SV_OTLP_ENDPOINT"},
		},
		"ReceiverOfSomethingElse": {
			func(testing.TB) []string {
				return []string{"SV_OTLP_ENDPOINT=" + address}
			}, 0, []string{"SV118  warning", "404"},
		},
		"DatabaseThatForgets": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{onDatabase(tb, `ALTER DATABASE %s SET synchronous_commit = off`)}
			}, 0, []string{"SV115  warning", "synchronous_commit"},
		},
		// A function of its own tells this database another time.
		"ClockOfTheDatabase": {
			func(tb testing.TB) []string {
				tb.Helper()
				return []string{onDatabase(tb, `CREATE FUNCTION public.clock_timestamp()
					RETURNS timestamptz LANGUAGE sql
					AS $$ SELECT pg_catalog.clock_timestamp() + interval '25 hours' $$;
					ALTER DATABASE %s SET search_path = public, pg_catalog`)}
			}, 0, []string{"SV113  warning", "25h0m", "set both clocks"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			setupDesk(t, address, token, c.settings(t)...).run(t.Context(), "doctor").want(t, c.code, c.want...)
		})
	}

	t.Run("WrongToken", func(t *testing.T) {
		t.Parallel()
		setupDesk(t, address, "sv_wrong").run(t.Context(), "doctor").want(t, 3, "SV104  error", "set SV_TOKEN")
	})
	t.Run("UnreachableService", func(t *testing.T) {
		t.Parallel()
		setupDesk(t, "http://127.0.0.1:1", token).run(t.Context(), "doctor").want(t, 3, "SV101  error", "set SV_URL")
	})
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

// onDatabase executes statements on a database of its own, whose name stands for %s, and returns the setting of it.
func onDatabase(tb testing.TB, statements string) string {
	tb.Helper()
	config := coretest.OpenDatabase(tb)
	name := `"` + config.Pool.Config().ConnConfig.Database + `"`
	if _, err := config.Pool.Exec(tb.Context(), strings.ReplaceAll(statements, "%s", name)); err != nil {
		tb.Fatal(err)
	}
	return "DATABASE_URL=" + config.Pool.Config().ConnString()
}

// configured is a Redis that was given a command.
func configured(tb testing.TB, command ...any) string {
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
	return address
}

// asStranger is the setting of a database as a role that may log in, with an option, and do nothing else.
func asStranger(tb testing.TB, option string) string {
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
	return "DATABASE_URL=" + address.String()
}
