package config

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	"github.com/caarlos0/env/v11"

	"github.com/simplevalidations/simplevalidations/config/edge"
	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
)

// Settings are what an operator can set, read once from the environment. The guide on configuration says what each of
// them means; simplevalidations.env is made from its table, and a test compares all three.
type Settings struct {
	// Where the service and its servers are, and what it writes.
	Addr              string         `env:"SV_ADDR" envDefault:"127.0.0.1:8000" validate:"hostname_port"`
	BaseURL           string         `env:"SV_BASE_URL" validate:"omitempty,http_url"`
	Cell              string         `env:"SV_CELL"`
	OTLPEndpoint      string         `env:"SV_OTLP_ENDPOINT" validate:"omitempty,http_url"`
	MetricsAddr       string         `env:"SV_METRICS_ADDR" validate:"omitempty,hostname_port"`
	DatabaseURL       Secret         `env:"DATABASE_URL"`
	DatabaseDirectURL Secret         `env:"DATABASE_DIRECT_URL"`
	RedisURL          Secret         `env:"REDIS_URL"`
	ContentURL        Secret         `env:"SV_CONTENT_URL"`
	SecretKey         Secret         `env:"SV_SECRET_KEY"`
	TrustedProxies    []netip.Prefix `env:"SV_TRUSTED_PROXIES"`
	DataDir           string         `env:"SV_DATA_DIR" envDefault:".data" validate:"required"`
	PostgresBinDir    string         `env:"PG_BIN_DIR"`
	LogFormat         string         `env:"SV_LOG_FORMAT" envDefault:"text" validate:"oneof=text json"`
	LogLevel          string         `env:"SV_LOG_LEVEL" envDefault:"info" validate:"oneof=debug info warn error"`

	// The database.
	DBMaxConns int32 `env:"SV_DB_MAX_CONNS" envDefault:"20" validate:"min=4,max=1000"`

	// Mail, sign-in, billing and external validators.
	SMTPURL          Secret         `env:"SV_SMTP_URL"`
	MailFrom         string         `env:"SV_MAIL_FROM" validate:"required_with=SMTPURL"`
	OIDCIssuer       string         `env:"SV_OIDC_ISSUER" validate:"omitempty,http_url"`
	OIDCClientID     string         `env:"SV_OIDC_CLIENT_ID"     validate:"required_with=OIDCIssuer"`
	OIDCClientSecret Secret         `env:"SV_OIDC_CLIENT_SECRET" validate:"required_with=OIDCIssuer"`
	OIDCDomains      []string       `env:"SV_OIDC_DOMAINS"`
	OIDCCreateUsers  bool           `env:"SV_OIDC_CREATE_USERS" envDefault:"false"`
	BillingURL       Secret         `env:"SV_BILLING_URL" validate:"omitempty,http_url"`
	BillingSecret    Secret         `env:"SV_BILLING_SECRET" validate:"required_with=BillingURL"`
	ExternalAllow    []netip.Prefix `env:"SV_EXTERNAL_ALLOW"`

	// Requests.
	IdempotencyTTL    time.Duration `env:"SV_IDEMPOTENCY_TTL" envDefault:"24h" validate:"min=1s"`
	MaxBodyBytes      int64         `env:"SV_MAX_BODY_BYTES" envDefault:"10485760" validate:"min=1024"`
	ReadTimeout       time.Duration `env:"SV_READ_TIMEOUT" envDefault:"60s" validate:"min=1s"`
	RequestsPerSecond float64       `env:"SV_REQUESTS_PER_SECOND" envDefault:"2000" validate:"min=0"`
	RunsPerMinute     int           `env:"SV_RUNS_PER_MINUTE" envDefault:"6000" validate:"min=0"`

	// Runs.
	Workers      int           `env:"SV_WORKERS" envDefault:"64" validate:"min=1,max=1000"`
	EngineMemory int64         `env:"SV_ENGINE_MEMORY" validate:"min=1048576"`
	Programs     string        `env:"SV_PROGRAMS"`
	LocalRuns    int           `env:"SV_LOCAL_RUNS" envDefault:"256" validate:"min=0,max=2000"`
	RunLease     time.Duration `env:"SV_RUN_LEASE" envDefault:"30s" validate:"min=1s"`
	StepTimeout  time.Duration `env:"SV_STEP_TIMEOUT" envDefault:"5m" validate:"min=1s"`
	RunTimeout   time.Duration `env:"SV_RUN_TIMEOUT" envDefault:"30m" validate:"min=1s"`

	// What is kept, and how a process ends.
	ContentRetention    time.Duration `env:"SV_CONTENT_RETENTION"  envDefault:"720h"  validate:"min=0s,max=876000h"`
	FindingsRetention   time.Duration `env:"SV_FINDINGS_RETENTION" envDefault:"2160h" validate:"min=0s,max=876000h"`
	RequestLogRetention time.Duration `env:"SV_REQUEST_LOG_RETENTION" envDefault:"720h" validate:"min=0s,max=876000h"`
	PurgeSchedule       string        `env:"SV_PURGE_SCHEDULE" envDefault:"17 * * * *" validate:"required"`
	ShutdownDelay       time.Duration `env:"SV_SHUTDOWN_DELAY" envDefault:"0s" validate:"min=0s"`
	ShutdownGrace       time.Duration `env:"SV_SHUTDOWN_GRACE" envDefault:"20s" validate:"min=1s"`

	// These are the same in every installation. Only the program that tests run takes them from the environment.

	// DBLockTimeout is the maximum wait for another transaction's lock.
	DBLockTimeout time.Duration `internal:"SV_DB_LOCK_TIMEOUT" internalDefault:"2s"`
	// DBStatementTimeout is the time limit of one statement; none of a start takes this long unless it is stuck.
	DBStatementTimeout time.Duration `internal:"SV_DB_STATEMENT_TIMEOUT" internalDefault:"10s"`
	// DBIdleTimeout is when the server ends the transaction of a process that is frozen between two statements.
	DBIdleTimeout time.Duration `internal:"SV_DB_IDLE_TIMEOUT" internalDefault:"10s"`
	// CommitTimeout is the time limit of the transaction of a start. It is longer than those of the database above, so
	// that the database times out first: its error proves that nothing was committed.
	CommitTimeout time.Duration `internal:"SV_COMMIT_TIMEOUT" internalDefault:"15s"`
	// WriteTimeout is how long a client may read nothing of a response before its connection is closed.
	WriteTimeout time.Duration `internal:"SV_WRITE_TIMEOUT" internalDefault:"30s"`
	// MaxConnections is how many connections of clients are open at once; further ones are answered 503.
	MaxConnections int `internal:"SV_MAX_CONNECTIONS" internalDefault:"10000"`
	// OrgRequestsPerSecond is the rate limit of all tokens of one organization.
	OrgRequestsPerSecond float64 `internal:"SV_ORG_REQUESTS_PER_SECOND" internalDefault:"4000"`
	// StreamsPerOrg is how many event streams of one organization are open at once.
	StreamsPerOrg int `internal:"SV_STREAMS_PER_ORG" internalDefault:"200"`
	// CallbacksPerSecond is the rate limit of callbacks of external validators, for each address.
	CallbacksPerSecond float64 `internal:"SV_CALLBACKS_PER_SECOND" internalDefault:"100"`
	// RequestLogRate is how many requests a second are logged; more are only counted.
	RequestLogRate int `internal:"SV_REQUEST_LOG_RATE" internalDefault:"1000"`
	// KeyLock is how long the holder of a key with several phases may be silent before another process takes it over.
	KeyLock time.Duration `internal:"SV_KEY_LOCK" internalDefault:"30s"`
	// CompleteInterval is how often requests are looked for that were abandoned between phases.
	CompleteInterval time.Duration `internal:"SV_COMPLETE_INTERVAL" internalDefault:"5s"`
	// RunSweepAfter is how long a run may be pending before it is queued again.
	RunSweepAfter time.Duration `internal:"SV_RUN_SWEEP_AFTER" internalDefault:"1m"`
	// RunMaxAttempts is how often a run is attempted before it ends with ERROR.
	RunMaxAttempts int `internal:"SV_RUN_MAX_ATTEMPTS" internalDefault:"5"`
	// EnqueueInterval is how often staged jobs are looked for when nothing notifies of them.
	EnqueueInterval time.Duration `internal:"SV_ENQUEUE_INTERVAL" internalDefault:"500ms"`
	// SweepInterval is how often stuck runs are looked for.
	SweepInterval time.Duration `internal:"SV_SWEEP_INTERVAL" internalDefault:"5s"`
	// PublishInterval is how often new events, and webhooks with something due, are looked for.
	PublishInterval time.Duration `internal:"SV_PUBLISH_INTERVAL" internalDefault:"250ms"`
	// WebhookRetries are the waits between the attempts to deliver an event, three days in all.
	WebhookRetries []time.Duration `internal:"SV_WEBHOOK_RETRIES" internalDefault:"5s,1m,5m,30m,2h,5h,10h,14h,20h,21h"`
	// WebhookTimeout bounds an attempt from the connection to the end of the answer.
	WebhookTimeout time.Duration `internal:"SV_WEBHOOK_TIMEOUT" internalDefault:"15s"`
	// AccessTrust is how long a body may take to arrive before the right to send it is looked up again.
	AccessTrust time.Duration `internal:"SV_ACCESS_TRUST" internalDefault:"1s"`
	// MoveRest is how long a move waits for requests that were accepted before it: longer than one may take.
	MoveRest time.Duration `internal:"SV_MOVE_REST" internalDefault:"1m"`
	// RunsLimitTimeout is how long a request waits for Redis to count a new run before it continues uncounted.
	RunsLimitTimeout time.Duration `internal:"SV_RUNS_LIMIT_TIMEOUT" internalDefault:"20ms"`
}

// internals is set by the linker for the program that tests run: with it, the environment sets what is no setting, too.
var internals string //nolint:gochecknoglobals // tests reach into another process by nothing else

const (
	// mostEngineMemory bounds the default of Settings.EngineMemory. It suffices for the heaviest document of the
	// default size, and is what one organization can make a process use.
	mostEngineMemory = 512 << 20
	// engineMemoryShare is the part of a container's memory that engines get, if that is less. The rest is for
	// documents on their way, for caches, and for what the garbage collector has not yet found.
	engineMemoryShare = 4
)

// defaultEngineMemory is the budget of the engines on this machine or in this container.
func defaultEngineMemory() int64 {
	limit, err := memlimit.FromCgroup()
	if err != nil {
		return mostEngineMemory
	}
	return int64(min(limit/engineMemoryShare, mostEngineMemory))
}

// UsageError is a wrong setting or argument. The program ends with 2.
type UsageError struct {
	Reason string
}

// Error returns the reason.
func (e *UsageError) Error() string {
	return e.Reason
}

// LoadSettings reads the settings from an environment given as KEY=value, checks them and reports
// everything that is wrong at once. The second result lists variables beginning with SV_ that mean nothing.
func LoadSettings(environ []string) (Settings, []string, error) {
	variables := env.ToMap(environ)
	unknown := unknownVariables(variables)
	problems := readFiles(variables)
	settings := Settings{EngineMemory: defaultEngineMemory()}
	problems = append(problems, unreadable(
		env.ParseWithOptions(&settings, env.Options{Environment: variables}), variables)...)
	if err := setInternals(&settings, variables); err != nil {
		return Settings{}, nil, err
	}
	fields, err := core.NewValidator().Fields(settings)
	if err != nil {
		return Settings{}, nil, err
	}
	for _, field := range append(fields, unusable(settings)...) {
		name := strings.TrimPrefix(field.Pointer, "/")
		// A value that could not be read is reported already; its zero value breaks the rule, too.
		if !slices.ContainsFunc(problems, func(reported string) bool { return strings.HasPrefix(reported, name+" ") }) {
			problems = append(problems, name+" "+inSettings(field))
		}
	}
	if len(problems) > 0 {
		for _, name := range unknown {
			problems = append(problems, name+" is not a setting")
		}
		return Settings{}, nil, &UsageError{Reason: "the settings are wrong:\n  " + strings.Join(problems, "\n  ")}
	}
	return settings, unknown, nil
}

// setInternals gives what is no setting its values.
func setInternals(s *Settings, variables map[string]string) error {
	if internals == "" {
		variables = map[string]string{}
	}
	err := env.ParseWithOptions(s, env.Options{
		Environment: variables, TagName: "internal", DefaultValueTagName: "internalDefault",
	})
	if err != nil {
		return fmt.Errorf("set what is no setting: %w", err)
	}
	return nil
}

type settingValue struct {
	name, value, fallback string
}

// describe lists the settings in their order.
func describe(settings Settings) []settingValue {
	values := reflect.ValueOf(settings)
	var described []settingValue
	for field, value := range values.Fields() {
		if name := field.Tag.Get("env"); name != "" {
			described = append(described, settingValue{
				name: name, value: fmt.Sprint(value.Interface()), fallback: field.Tag.Get("envDefault"),
			})
		}
	}
	return described
}

// Print writes the settings as NAME = value, one a line, with secrets redacted.
func (s Settings) Print(w io.Writer) error {
	var rows [][]string
	for _, setting := range describe(s) {
		rows = append(rows, []string{setting.name, "= " + setting.value})
	}
	if err := cli.WriteTable(w, rows...); err != nil {
		return fmt.Errorf("print the settings: %w", err)
	}
	return nil
}

// Address is how clients reach the service, without a slash at the end.
func (s Settings) Address() string {
	if s.BaseURL != "" {
		return strings.TrimSuffix(s.BaseURL, "/")
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err == nil && (host == "" || host == "0.0.0.0" || host == "::") {
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + s.Addr
}

// isEncrypted reports whether clients reach the service by https alone.
func (s Settings) isEncrypted() bool {
	return strings.HasPrefix(s.BaseURL, "https://")
}

// Edge is how servers treat clients by these settings.
func (s Settings) Edge() edge.Config {
	return edge.Config{
		ReadTimeout: s.ReadTimeout, WriteTimeout: s.WriteTimeout, MaxConnections: s.MaxConnections,
		MaxBodyBytes: s.MaxBodyBytes, ShutdownDelay: s.ShutdownDelay, ShutdownGrace: s.ShutdownGrace,
	}
}
