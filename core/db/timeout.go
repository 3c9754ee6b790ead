package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// deadlines gives every statement and every wait for a connection a deadline, so that a database that is frozen or cut
// off makes requests fail instead of hang. pgx lets a tracer replace the context of a call.
type deadlines struct {
	limit time.Duration
}

type (
	cancelKey    struct{}
	unlimitedKey struct{}
)

// Unlimited returns a context whose statements have no deadline of the pool's, for work such as migrations
// that may take as long as it takes.
func Unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedKey{}, true)
}

// TraceQueryStart begins the time of a statement.
func (l deadlines) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return l.begin(ctx)
}

// TraceQueryEnd ends it.
func (deadlines) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	end(ctx)
}

// TraceBatchStart begins the time of a batch.
func (l deadlines) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return l.begin(ctx)
}

// TraceBatchQuery leaves the batch's time as it is.
func (deadlines) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd ends it.
func (deadlines) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchEndData) {
	end(ctx)
}

// TraceAcquireStart begins the time of waiting for a connection.
func (l deadlines) TraceAcquireStart(
	ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData,
) context.Context {
	return l.begin(ctx)
}

// TraceAcquireEnd ends it.
func (deadlines) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	end(ctx)
}

func (l deadlines) begin(ctx context.Context) context.Context {
	if ctx.Value(unlimitedKey{}) != nil {
		return ctx
	}
	ctx, cancel := context.WithTimeout(ctx, l.limit)
	return context.WithValue(ctx, cancelKey{}, cancel)
}

func end(ctx context.Context) {
	if cancel, ok := ctx.Value(cancelKey{}).(context.CancelFunc); ok {
		cancel()
	}
}
