package db

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/simplevalidations/simplevalidations/core/coalesce"
)

// Config says how to reach PostgreSQL and how long anything may hold it.
type Config struct {
	URL      string
	MaxConns int32
	// Pooled says that the URL leads to a transaction pooler. Each transaction then has another session, which knows
	// nothing of statements that an earlier one has prepared.
	Pooled bool
	// LockTimeout bounds the wait for another transaction's lock, StatementTimeout a statement, and
	// IdleTimeout what a frozen process can hold by doing nothing inside a transaction.
	LockTimeout      time.Duration
	StatementTimeout time.Duration
	IdleTimeout      time.Duration
}

// DB is the database: one pool, seen through pgx where a statement is hot and through GORM elsewhere.
type DB struct {
	// Pool runs single statements.
	Pool *pgxpool.Pool
	// Gorm reads and writes models outside of transactions.
	Gorm *gorm.DB
	// SQL is the same pool for libraries that want database/sql.
	SQL *sql.DB

	begin begin
	loads *coalesce.Batcher[*Loader, error]
	// statements are those of look-ups, by their queries. There is one for each kind of look-up.
	statements sync.Map
}

const (
	// graceForServer lets the server's own time limit speak first, because its error says more.
	graceForServer = 2 * time.Second
	// tcpUserTimeout bounds how long sent data may stay unacknowledged before the connection is dead.
	tcpUserTimeout = 20 * time.Second
	connectTimeout = 5 * time.Second
	// applicationName tells the server whose connections these are, unless the URL says so.
	applicationName = "simplevalidations"
)

// Open opens the pool and checks that the database answers.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	pgxConfig, err := pgxpool.ParseConfig(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("read the database URL: %w", err)
	}
	pgxConfig.MaxConns = cfg.MaxConns
	pgxConfig.ConnConfig.ConnectTimeout = connectTimeout
	if parameters := pgxConfig.ConnConfig.RuntimeParams; parameters["application_name"] == "" {
		parameters["application_name"] = applicationName
	}
	if cfg.Pooled && pgxConfig.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		pgxConfig.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	// When the server was restarted or has failed over, all connections to the old one are dead at once. Checking
	// before each use keeps requests from failing on one.
	pgxConfig.PrepareConn = func(_ context.Context, conn *pgx.Conn) (bool, error) {
		return isAlive(conn.PgConn().Conn()), nil
	}
	// The pool would send a ping besides, to each connection that was idle for a second: a round trip for nothing.
	pgxConfig.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false }
	pgxConfig.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		registerIDs(conn.TypeMap())
		registerColumns(conn.TypeMap())
		if cfg.Pooled {
			return nil
		}
		return setSession(ctx, conn)
	}
	pgxConfig.ConnConfig.Tracer = deadlines{limit: cfg.StatementTimeout + graceForServer}
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: tcpUserTimeout, Control: setUserTimeout}
	pgxConfig.ConnConfig.DialFunc = onlyToConnect(dialer.DialContext)
	pgxConfig.BeforeClose = hangUp
	pool, err := pgxpool.NewWithConfig(ctx, pgxConfig)
	if err != nil {
		return nil, fmt.Errorf("open the database pool: %w", err)
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("reach the database: %w", err)
	}
	sqlDB := stdlib.OpenDBFromPool(pool)
	// The pool beneath keeps the connections; a second pool on top would hide them from it.
	sqlDB.SetMaxIdleConns(0)
	gormDB, err := gorm.Open(postgres.New(postgres.Config{Conn: sqlDB}), &gorm.Config{
		SkipDefaultTransaction: true,
		TranslateError:         true,
		Logger:                 logger.Discard,
		// SELECT * would return another row when a migration adds a column, which its prepared statement refuses.
		QueryFields: true,
	})
	if err != nil {
		pool.Close()
		return nil, fmt.Errorf("open the database: %w", err)
	}
	db := &DB{Pool: pool, Gorm: gormDB, SQL: sqlDB, begin: newBegin(cfg)}
	db.loads = newLoadBatcher(db)
	return db, nil
}

// BehindPooler reports whether a pooler stands before the server: then the process that the connection is said to
// belong to is not the one that answers.
func (db *DB) BehindPooler(ctx context.Context) (bool, error) {
	conn, err := db.Pool.Acquire(ctx)
	if err != nil {
		return false, fmt.Errorf("take a connection: %w", err)
	}
	defer conn.Release()
	var answering uint32
	// In this mode no statement is prepared by name, as a pooler could not keep it.
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&answering); err != nil {
		return false, fmt.Errorf("ask for the server's process: %w", err)
	}
	return answering != conn.Conn().PgConn().PID(), nil
}

// Identity names the database in a server, so that two URLs can be compared.
func (db *DB) Identity(ctx context.Context) (string, error) {
	var name string
	err := db.Pool.QueryRow(ctx, `SELECT format('%s of the server that started at %s', current_database(),
		to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`).Scan(&name)
	if err != nil {
		return "", fmt.Errorf("ask which database it is: %w", err)
	}
	return name, nil
}

// Close waits for running statements and closes every connection.
func (db *DB) Close() error {
	err := db.SQL.Close()
	db.Pool.Close()
	return err
}

// begin is what begins a transaction.
type begin struct {
	limits [3]string
	// planner is set if the transaction has to set what other sessions have from the start.
	planner bool
}

func newBegin(cfg Config) begin {
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	return begin{planner: cfg.Pooled, limits: [...]string{
		milliseconds(cfg.LockTimeout), milliseconds(cfg.StatementTimeout), milliseconds(cfg.IdleTimeout),
	}}
}

// queue names the isolation level, because the database may have another default, under which a claim would not see
// what a rival has just committed. The time limits are the transaction's own, because a transaction pooler neither
// takes them as start-up parameters nor keeps a session's settings to that session.
func (b begin) queue(batch *Batch) {
	batch.Queue("begin isolation level read committed")
	batch.Queue(`SELECT set_config('lock_timeout', $1, true), set_config('statement_timeout', $2, true),
		set_config('idle_in_transaction_session_timeout', $3, true)`, b.limits[0], b.limits[1], b.limits[2])
	if b.planner {
		batch.Queue(plannerOfTransaction)
	}
}
