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

	"github.com/caarlos0/env/v11"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/cli"
)

// Settings are everything that an operator can set, read once from the environment.
type Settings struct {
	// Addr is where the web server listens.
	Addr string `env:"SV_ADDR" envDefault:"127.0.0.1:8000" validate:"hostname_port"`
	// BaseURL is how clients reach the service; empty means http:// and Addr.
	BaseURL string `env:"SV_BASE_URL" validate:"omitempty,http_url"`
	// OTLPEndpoint is where traces are sent to; empty for none.
	OTLPEndpoint string `env:"SV_OTLP_ENDPOINT" validate:"omitempty,http_url"`
	// MetricsAddr is where every process serves what it measures, and its probes; empty means nowhere.
	MetricsAddr string `env:"SV_METRICS_ADDR" validate:"omitempty,hostname_port"`
	// DatabaseURL names a PostgreSQL; empty starts a private one in DataDir.
	DatabaseURL Secret `env:"DATABASE_URL"`
	// DatabaseDirectURL leads to the same PostgreSQL without a transaction pooler; set, DatabaseURL leads through one.
	DatabaseDirectURL Secret `env:"DATABASE_DIRECT_URL"`
	// RedisURL names a Redis; empty starts one inside the process.
	RedisURL Secret `env:"REDIS_URL"`
	// SecretKey encrypts secrets in the database: 32 bytes in base64. Of several, separated by commas, the first
	// encrypts and all decrypt. Empty means the one in DataDir where the private PostgreSQL is used.
	SecretKey Secret `env:"SV_SECRET_KEY"`
	// TrustedProxies lists networks of load balancers, whose word is taken for the address of a client.
	TrustedProxies []netip.Prefix `env:"SV_TRUSTED_PROXIES"`
	// DataDir holds the private servers' files.
	DataDir string `env:"SV_DATA_DIR" envDefault:".data" validate:"required"`
	// PostgresBinDir holds initdb and postgres; empty looks for them.
	PostgresBinDir string `env:"PG_BIN_DIR"`
	// LogFormat is text or json.
	LogFormat string `env:"SV_LOG_FORMAT" envDefault:"text" validate:"oneof=text json"`
	// LogLevel is debug, info, warn or error.
	LogLevel string `env:"SV_LOG_LEVEL" envDefault:"info" validate:"oneof=debug info warn error"`

	// DBMaxConns bounds the connections of one process to PostgreSQL.
	DBMaxConns int32 `env:"SV_DB_MAX_CONNS" envDefault:"20" validate:"min=4,max=1000"`
	// DBLockTimeout bounds the wait for another transaction's lock.
	DBLockTimeout time.Duration `env:"SV_DB_LOCK_TIMEOUT" envDefault:"2s" validate:"min=10ms"`
	// DBStatementTimeout bounds one statement.
	DBStatementTimeout time.Duration `env:"SV_DB_STATEMENT_TIMEOUT" envDefault:"10s" validate:"min=100ms"`
	// DBIdleTimeout bounds what a frozen process can hold inside a transaction.
	DBIdleTimeout time.Duration `env:"SV_DB_IDLE_TIMEOUT" envDefault:"10s" validate:"min=100ms"`

	// SMTPAddress is the host and port of the server that mail is sent through; empty means that none is sent.
	SMTPAddress string `env:"SV_SMTP_ADDRESS" validate:"omitempty,hostname_port"`
	// SMTPEncryption is starttls, tls or none.
	SMTPEncryption string `env:"SV_SMTP_ENCRYPTION" envDefault:"starttls" validate:"oneof=starttls tls none"`
	// SMTPUser and SMTPPassword are those of the mail server; empty for one that demands none.
	SMTPUser     string `env:"SV_SMTP_USER"`
	SMTPPassword Secret `env:"SV_SMTP_PASSWORD" validate:"required_with=SMTPUser"`
	// MailFrom is the sender of mail.
	MailFrom string `env:"SV_MAIL_FROM" validate:"required_with=SMTPAddress"`
	// OIDCIssuer is the URL of the OpenID Connect provider that people sign in with; empty means none.
	OIDCIssuer string `env:"SV_OIDC_ISSUER" validate:"omitempty,http_url"`
	// OIDCClientID and OIDCClientSecret are those that the provider has given to this service.
	OIDCClientID     string `env:"SV_OIDC_CLIENT_ID"     validate:"required_with=OIDCIssuer"`
	OIDCClientSecret Secret `env:"SV_OIDC_CLIENT_SECRET" validate:"required_with=OIDCIssuer"`
	// OIDCDomains lists the domains of the e-mail addresses that may sign in at the provider; empty means all.
	OIDCDomains []string `env:"SV_OIDC_DOMAINS"`
	// OIDCCreateUsers gives an account to people who sign in at the provider without having one.
	OIDCCreateUsers bool `env:"SV_OIDC_CREATE_USERS" envDefault:"false"`
	// BillingURL is where runs beyond a quota are charged; empty means that no run is started beyond a quota.
	BillingURL Secret `env:"SV_BILLING_URL" validate:"omitempty,http_url"`
	// BillingSecret signs the calls of the billing service.
	BillingSecret Secret `env:"SV_BILLING_SECRET" validate:"required_with=BillingURL"`
	// ExternalAllow lists networks in which external validators may be, besides the public ones.
	ExternalAllow []netip.Prefix `env:"SV_EXTERNAL_ALLOW"`
	// CallbacksPerSecond bounds the callbacks of external validators from one address per process; 0 means no limit.
	CallbacksPerSecond float64 `env:"SV_CALLBACKS_PER_SECOND" envDefault:"100" validate:"min=0"`
	// KeyLock is how long the holder of a key of several phases may be silent before another takes it over.
	KeyLock time.Duration `env:"SV_KEY_LOCK" envDefault:"30s" validate:"min=1s"`
	// CompleteInterval is how often abandoned keys are looked for.
	CompleteInterval time.Duration `env:"SV_COMPLETE_INTERVAL" envDefault:"5s" validate:"min=100ms"`
	// CompleteMaxAttempts is how often an abandoned key is tried before it is a dead letter.
	CompleteMaxAttempts int `env:"SV_COMPLETE_MAX_ATTEMPTS" envDefault:"20" validate:"min=1"`
	// IdempotencyTTL is how long a key is remembered, counted from its first use.
	IdempotencyTTL time.Duration `env:"SV_IDEMPOTENCY_TTL" envDefault:"24h" validate:"min=1s"`
	// CommitTimeout bounds the transaction of a start, whatever the client does.
	CommitTimeout time.Duration `env:"SV_COMMIT_TIMEOUT" envDefault:"15s" validate:"min=100ms"`
	// MaxBodyBytes bounds a request body.
	MaxBodyBytes int64 `env:"SV_MAX_BODY_BYTES" envDefault:"10485760" validate:"min=1024"`
	// ReadTimeout bounds how long a request may take to arrive.
	ReadTimeout time.Duration `env:"SV_READ_TIMEOUT" envDefault:"60s" validate:"min=1s"`
	// WriteTimeout is how long a client may go without reading any of its answer before its connection is closed.
	WriteTimeout time.Duration `env:"SV_WRITE_TIMEOUT" envDefault:"30s" validate:"min=10ms"`
	// MaxConnections bounds the connections of clients to one process.
	MaxConnections int `env:"SV_MAX_CONNECTIONS" envDefault:"10000" validate:"min=1,max=1000000"`
	// RequestsPerSecond bounds the requests of one token per process; 0 means no limit.
	RequestsPerSecond float64 `env:"SV_REQUESTS_PER_SECOND" envDefault:"2000" validate:"min=0"`
	// OrgRequestsPerSecond bounds the requests of all tokens of one organization per process; 0 means no limit.
	OrgRequestsPerSecond float64 `env:"SV_ORG_REQUESTS_PER_SECOND" envDefault:"4000" validate:"min=0"`
	// StreamsPerOrg bounds the open event streams of one organization per process; 0 means no limit.
	StreamsPerOrg int `env:"SV_STREAMS_PER_ORG" envDefault:"200" validate:"min=0"`
	// AccessTrust is how long a body may take to arrive before the right to send it is looked up again.
	AccessTrust time.Duration `env:"SV_ACCESS_TRUST" envDefault:"1s" validate:"min=0s"`
	// RunsPerMinute bounds the new runs of one organization across all processes; 0 means no limit.
	RunsPerMinute int `env:"SV_RUNS_PER_MINUTE" envDefault:"6000" validate:"min=0"`
	// RunsLimitTimeout is how long a request waits for Redis to count a new run before it goes on uncounted.
	RunsLimitTimeout time.Duration `env:"SV_RUNS_LIMIT_TIMEOUT" envDefault:"20ms" validate:"min=1ms"`

	// Workers is how many runs one process executes at once. One organization gets at most half of them, and less while
	// others have work.
	Workers int `env:"SV_WORKERS" envDefault:"64" validate:"min=1,max=1000"`
	// EngineMemory is the budget, in bytes, of the validators of one process that hold documents in memory. What does
	// not fit waits; what could never fit is refused.
	EngineMemory int64 `env:"SV_ENGINE_MEMORY" validate:"min=1048576"`
	// OrgShare is the part of the validators' places and memory that one organization gets while another one waits.
	// With half of it the others always find as much as the busiest has.
	OrgShare float64 `env:"SV_ORG_SHARE" envDefault:"0.5" validate:"gt=0,lte=1"`
	// LocalRuns is how many runs a process that is web server and worker at once executes itself. While others have
	// some, one organization gets its OrgShare of them; other runs go through the queue.
	LocalRuns int `env:"SV_LOCAL_RUNS" envDefault:"256" validate:"min=0,max=2000"`
	// RunLease is how long the holder of a run may be silent before another takes it over.
	RunLease time.Duration `env:"SV_RUN_LEASE" envDefault:"30s" validate:"min=1s"`
	// RunSweepAfter is how long a pending run may lie before it is queued again.
	RunSweepAfter time.Duration `env:"SV_RUN_SWEEP_AFTER" envDefault:"1m" validate:"min=1s"`
	// RunMaxAttempts is how often a run is begun before it ends in ERROR.
	RunMaxAttempts int `env:"SV_RUN_MAX_ATTEMPTS" envDefault:"5" validate:"min=1"`
	// StepTimeout bounds one step of a run; the step may be set to less.
	StepTimeout time.Duration `env:"SV_STEP_TIMEOUT" envDefault:"5m" validate:"min=1s"`
	// RunTimeout bounds a run from the beginning of its first step; the workflow may be set to less.
	RunTimeout time.Duration `env:"SV_RUN_TIMEOUT" envDefault:"30m" validate:"min=1s"`
	// EnqueueInterval is how often staged jobs are looked for when nothing wakes the enqueuer.
	EnqueueInterval time.Duration `env:"SV_ENQUEUE_INTERVAL" envDefault:"500ms" validate:"min=10ms"`
	// SweepInterval is how often stuck runs are looked for.
	SweepInterval time.Duration `env:"SV_SWEEP_INTERVAL" envDefault:"5s" validate:"min=100ms"`
	// ContentRetention and FindingsRetention are how long the documents and the findings of runs are kept, counted
	// from the end of the run; 0 is for ever.
	ContentRetention  time.Duration `env:"SV_CONTENT_RETENTION"  envDefault:"720h"  validate:"min=0s,max=876000h"`
	FindingsRetention time.Duration `env:"SV_FINDINGS_RETENTION" envDefault:"2160h" validate:"min=0s,max=876000h"`
	// RequestLogRate is how many requests a second each process adds to the log of requests. More are only counted.
	RequestLogRate int `env:"SV_REQUEST_LOG_RATE" envDefault:"1000" validate:"min=0,max=100000"`
	// RequestLogRetention is how long the log keeps requests; 0 is for ever.
	RequestLogRetention time.Duration `env:"SV_REQUEST_LOG_RETENTION" envDefault:"720h" validate:"min=0s,max=876000h"`
	// PurgeSchedule is when what has expired is deleted, as a cron expression in UTC.
	PurgeSchedule string `env:"SV_PURGE_SCHEDULE" envDefault:"17 * * * *" validate:"required"`
	// ShutdownDelay is how long a web process that is stopped continues to answer requests while its readiness probe
	// fails, so that load balancers notice.
	ShutdownDelay time.Duration `env:"SV_SHUTDOWN_DELAY" envDefault:"0s" validate:"min=0s"`
	// ShutdownGrace is how long running work may take to end when the process is stopped.
	ShutdownGrace time.Duration `env:"SV_SHUTDOWN_GRACE" envDefault:"20s" validate:"min=1s"`
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

type settingValue struct {
	name, value, fallback string
}

// describe lists the settings in their order.
func describe(settings Settings) []settingValue {
	values := reflect.ValueOf(settings)
	described := make([]settingValue, values.NumField())
	for i := range described {
		field := values.Type().Field(i)
		described[i] = settingValue{
			name: field.Tag.Get("env"), value: fmt.Sprint(values.Field(i).Interface()),
			fallback: field.Tag.Get("envDefault"),
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

// embedded reports whether PostgreSQL or Redis run inside, with their data in DataDir.
func (s Settings) embedded() bool {
	return s.DatabaseURL == "" || s.RedisURL == ""
}
