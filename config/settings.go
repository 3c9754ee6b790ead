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

// Settings are what an operator can set, read once from the environment. The guide on configuration says what each of
// them means; simplevalidations.env is made from its table, and a test compares all three.
type Settings struct {
	// Where the service and its servers are, and what it writes.
	Addr              string         `env:"SV_ADDR" envDefault:"127.0.0.1:8000" validate:"hostname_port"`
	BaseURL           string         `env:"SV_BASE_URL" validate:"omitempty,http_url"`
	OTLPEndpoint      string         `env:"SV_OTLP_ENDPOINT" validate:"omitempty,http_url"`
	MetricsAddr       string         `env:"SV_METRICS_ADDR" validate:"omitempty,hostname_port"`
	DatabaseURL       Secret         `env:"DATABASE_URL"`
	DatabaseDirectURL Secret         `env:"DATABASE_DIRECT_URL"`
	RedisURL          Secret         `env:"REDIS_URL"`
	SecretKey         Secret         `env:"SV_SECRET_KEY"`
	TrustedProxies    []netip.Prefix `env:"SV_TRUSTED_PROXIES"`
	DataDir           string         `env:"SV_DATA_DIR" envDefault:".data" validate:"required"`
	PostgresBinDir    string         `env:"PG_BIN_DIR"`
	LogFormat         string         `env:"SV_LOG_FORMAT" envDefault:"text" validate:"oneof=text json"`
	LogLevel          string         `env:"SV_LOG_LEVEL" envDefault:"info" validate:"oneof=debug info warn error"`

	// The database.
	DBMaxConns         int32         `env:"SV_DB_MAX_CONNS" envDefault:"20" validate:"min=4,max=1000"`
	DBLockTimeout      time.Duration `env:"SV_DB_LOCK_TIMEOUT" envDefault:"2s" validate:"min=10ms"`
	DBStatementTimeout time.Duration `env:"SV_DB_STATEMENT_TIMEOUT" envDefault:"10s" validate:"min=100ms"`
	DBIdleTimeout      time.Duration `env:"SV_DB_IDLE_TIMEOUT" envDefault:"10s" validate:"min=100ms"`

	// Mail, sign-in, billing and external validators.
	SMTPAddress    string `env:"SV_SMTP_ADDRESS" validate:"omitempty,hostname_port"`
	SMTPEncryption string `env:"SV_SMTP_ENCRYPTION" envDefault:"starttls" validate:"oneof=starttls tls none"`
	SMTPUser       string `env:"SV_SMTP_USER"`
	SMTPPassword   Secret `env:"SV_SMTP_PASSWORD" validate:"required_with=SMTPUser"`
	MailFrom       string `env:"SV_MAIL_FROM" validate:"required_with=SMTPAddress"`

	OIDCIssuer         string         `env:"SV_OIDC_ISSUER" validate:"omitempty,http_url"`
	OIDCClientID       string         `env:"SV_OIDC_CLIENT_ID"     validate:"required_with=OIDCIssuer"`
	OIDCClientSecret   Secret         `env:"SV_OIDC_CLIENT_SECRET" validate:"required_with=OIDCIssuer"`
	OIDCDomains        []string       `env:"SV_OIDC_DOMAINS"`
	OIDCCreateUsers    bool           `env:"SV_OIDC_CREATE_USERS" envDefault:"false"`
	BillingURL         Secret         `env:"SV_BILLING_URL" validate:"omitempty,http_url"`
	BillingSecret      Secret         `env:"SV_BILLING_SECRET" validate:"required_with=BillingURL"`
	ExternalAllow      []netip.Prefix `env:"SV_EXTERNAL_ALLOW"`
	CallbacksPerSecond float64        `env:"SV_CALLBACKS_PER_SECOND" envDefault:"100" validate:"min=0"`

	// Requests.
	KeyLock              time.Duration `env:"SV_KEY_LOCK" envDefault:"30s" validate:"min=1s"`
	CompleteInterval     time.Duration `env:"SV_COMPLETE_INTERVAL" envDefault:"5s" validate:"min=100ms"`
	IdempotencyTTL       time.Duration `env:"SV_IDEMPOTENCY_TTL" envDefault:"24h" validate:"min=1s"`
	CommitTimeout        time.Duration `env:"SV_COMMIT_TIMEOUT" envDefault:"15s" validate:"min=100ms"`
	MaxBodyBytes         int64         `env:"SV_MAX_BODY_BYTES" envDefault:"10485760" validate:"min=1024"`
	ReadTimeout          time.Duration `env:"SV_READ_TIMEOUT" envDefault:"60s" validate:"min=1s"`
	WriteTimeout         time.Duration `env:"SV_WRITE_TIMEOUT" envDefault:"30s" validate:"min=10ms"`
	MaxConnections       int           `env:"SV_MAX_CONNECTIONS" envDefault:"10000" validate:"min=1,max=1000000"`
	RequestsPerSecond    float64       `env:"SV_REQUESTS_PER_SECOND" envDefault:"2000" validate:"min=0"`
	OrgRequestsPerSecond float64       `env:"SV_ORG_REQUESTS_PER_SECOND" envDefault:"4000" validate:"min=0"`
	StreamsPerOrg        int           `env:"SV_STREAMS_PER_ORG" envDefault:"200" validate:"min=0"`
	RunsPerMinute        int           `env:"SV_RUNS_PER_MINUTE" envDefault:"6000" validate:"min=0"`

	// Runs.
	Workers         int           `env:"SV_WORKERS" envDefault:"64" validate:"min=1,max=1000"`
	EngineMemory    int64         `env:"SV_ENGINE_MEMORY" validate:"min=1048576"`
	LocalRuns       int           `env:"SV_LOCAL_RUNS" envDefault:"256" validate:"min=0,max=2000"`
	RunLease        time.Duration `env:"SV_RUN_LEASE" envDefault:"30s" validate:"min=1s"`
	RunSweepAfter   time.Duration `env:"SV_RUN_SWEEP_AFTER" envDefault:"1m" validate:"min=1s"`
	RunMaxAttempts  int           `env:"SV_RUN_MAX_ATTEMPTS" envDefault:"5" validate:"min=1"`
	StepTimeout     time.Duration `env:"SV_STEP_TIMEOUT" envDefault:"5m" validate:"min=1s"`
	RunTimeout      time.Duration `env:"SV_RUN_TIMEOUT" envDefault:"30m" validate:"min=1s"`
	EnqueueInterval time.Duration `env:"SV_ENQUEUE_INTERVAL" envDefault:"500ms" validate:"min=10ms"`
	SweepInterval   time.Duration `env:"SV_SWEEP_INTERVAL" envDefault:"5s" validate:"min=100ms"`

	// What is kept, and how a process ends.
	ContentRetention    time.Duration `env:"SV_CONTENT_RETENTION"  envDefault:"720h"  validate:"min=0s,max=876000h"`
	FindingsRetention   time.Duration `env:"SV_FINDINGS_RETENTION" envDefault:"2160h" validate:"min=0s,max=876000h"`
	RequestLogRate      int           `env:"SV_REQUEST_LOG_RATE" envDefault:"1000" validate:"min=0,max=100000"`
	RequestLogRetention time.Duration `env:"SV_REQUEST_LOG_RETENTION" envDefault:"720h" validate:"min=0s,max=876000h"`
	PurgeSchedule       string        `env:"SV_PURGE_SCHEDULE" envDefault:"17 * * * *" validate:"required"`
	ShutdownDelay       time.Duration `env:"SV_SHUTDOWN_DELAY" envDefault:"0s" validate:"min=0s"`
	ShutdownGrace       time.Duration `env:"SV_SHUTDOWN_GRACE" envDefault:"20s" validate:"min=1s"`

	// Tests change these; no installation needs to.

	// AccessTrust is how long a body may take to arrive before the right to send it is looked up again.
	AccessTrust time.Duration
	// RunsLimitTimeout is how long a request waits for Redis to count a new run before it continues uncounted.
	RunsLimitTimeout time.Duration
}

// The defaults of what is no setting.
const (
	accessTrust      = time.Second
	runsLimitTimeout = 20 * time.Millisecond
)

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
	settings := Settings{
		EngineMemory: defaultEngineMemory(), AccessTrust: accessTrust, RunsLimitTimeout: runsLimitTimeout,
	}
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

// embedded reports whether PostgreSQL or Redis run inside, with their data in DataDir.
func (s Settings) embedded() bool {
	return s.DatabaseURL == "" || s.RedisURL == ""
}
