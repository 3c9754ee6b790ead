package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

const (
	endpoint    = "workflow_start"
	keyLifetime = 24 * time.Hour
	maxKey      = 255
	maxBody     = 10 << 20
)

type api struct {
	pool *pgxpool.Pool
	jobs *river.Client[pgx.Tx]
}

// workflow is what the token of a request may start.
type workflow struct {
	id, orgID uuid.UUID
	slug      string
	version   int
}

// stored is the answer to the first request with a key.
type stored struct {
	hash, location string
	status         int
	body           []byte
}

// refusal ends a request without a trace.
type refusal struct {
	status int
	code   string
}

func (r refusal) Error() string { return r.code }

func (a *api) start(w http.ResponseWriter, r *http.Request) {
	answer, replayed, err := a.answer(r)
	if refused, ok := errors.AsType[refusal](err); ok {
		http.Error(w, `{"code":"`+refused.code+`"}`, refused.status)
		return
	}
	if err != nil {
		slog.ErrorContext(r.Context(), "start", "error", err)
		http.Error(w, `{"code":"internal_error"}`, http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Location", answer.location)
	if replayed {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body)
}

// answer starts a run, or returns the stored answer and true.
func (a *api) answer(r *http.Request) (stored, bool, error) {
	ctx := r.Context()
	flow, err := a.authorize(ctx, r)
	if err != nil {
		return stored{}, false, err
	}
	key := r.Header.Get("Idempotency-Key")
	if key == "" || len(key) > maxKey {
		return stored{}, false, refusal{http.StatusBadRequest, "idempotency_key_invalid"}
	}
	content, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return stored{}, false, err
	}
	hash := fingerprint(r, content)
	for {
		known, err := a.find(ctx, flow.orgID, key)
		if err == nil {
			if known.hash != hash {
				return stored{}, false, refusal{http.StatusUnprocessableEntity, "idempotency_key_reused"}
			}
			return known, true, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return stored{}, false, err
		}
		answer, err := a.insert(ctx, r, flow, key, hash, content)
		// Another request with the key was first, and has committed.
		if !errors.Is(err, pgx.ErrNoRows) {
			return answer, false, err
		}
	}
}

func (a *api) authorize(ctx context.Context, r *http.Request) (workflow, error) {
	secret, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return workflow{}, refusal{http.StatusUnauthorized, "authentication_failed"}
	}
	digest := sha256.Sum256([]byte(secret))
	var flow workflow
	var role string
	err := a.pool.QueryRow(ctx, `SELECT org_id, role FROM tokens WHERE digest = $1`, digest[:]).Scan(&flow.orgID, &role)
	if errors.Is(err, pgx.ErrNoRows) {
		return workflow{}, refusal{http.StatusUnauthorized, "authentication_failed"}
	}
	if err != nil {
		return workflow{}, err
	}
	if role != "executor" {
		return workflow{}, refusal{http.StatusForbidden, "permission_denied"}
	}
	err = a.pool.QueryRow(ctx, `SELECT id, slug, version FROM workflows WHERE id = $1 AND org_id = $2`,
		r.PathValue("id"), flow.orgID).Scan(&flow.id, &flow.slug, &flow.version)
	if errors.Is(err, pgx.ErrNoRows) {
		err = refusal{http.StatusNotFound, "not_found"}
	}
	return flow, err
}

func (a *api) find(ctx context.Context, orgID uuid.UUID, key string) (stored, error) {
	var s stored
	err := a.pool.QueryRow(ctx, `
		SELECT request_hash, response_status, response_headers->>'Location', response_text FROM idempotency_keys
		WHERE org_id = $1 AND key = $2 AND endpoint = $3`, orgID, key, endpoint).
		Scan(&s.hash, &s.status, &s.location, &s.body)
	return s, err
}

// insert writes all of a start. It returns pgx.ErrNoRows if the key is taken.
func (a *api) insert(
	ctx context.Context, r *http.Request, flow workflow, key, hash string, content []byte,
) (stored, error) {
	runID, keyID, now := uuid.Must(uuid.NewV7()), uuid.Must(uuid.NewV7()), time.Now()
	answer := stored{hash: hash, status: http.StatusCreated, location: "/api/runs/" + runID.String() + "/"}
	var err error
	if answer.body, err = json.Marshal(map[string]any{
		"id": runID, "url": answer.location, "state": "PENDING", "workflow": flow.slug,
	}); err != nil {
		return stored{}, err
	}
	ip, _, _ := net.SplitHostPort(r.RemoteAddr)
	return answer, pgx.BeginFunc(ctx, a.pool, func(tx pgx.Tx) error {
		err := tx.QueryRow(ctx, `
			INSERT INTO idempotency_keys (id, org_id, key, endpoint, request_method, request_path, request_hash,
				request_ip, user_agent, recovery_point, response_status, response_headers, response_text,
				validation_run_id, created_at, expires_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'finished', $10, jsonb_build_object('Location', $11::text), $12,
				$13, $14, $15)
			ON CONFLICT (org_id, key, endpoint) DO NOTHING RETURNING id`,
			keyID, flow.orgID, key, endpoint, r.Method, r.URL.Path, hash, ip, r.UserAgent(), answer.status,
			answer.location, answer.body, runID, now, now.Add(keyLifetime)).Scan(&keyID)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(`UPDATE usage_counters SET used = used + 1 WHERE org_id = $1 AND (quota IS NULL OR used < quota)
			RETURNING used`, flow.orgID).QueryRow(func(row pgx.Row) error {
			var used int64
			err := row.Scan(&used)
			if errors.Is(err, pgx.ErrNoRows) {
				err = refusal{http.StatusTooManyRequests, "quota_exceeded"}
			}
			return err
		})
		digest := sha256.Sum256(content)
		batch.Queue(`
			WITH submission AS (
				INSERT INTO submissions (org_id, media_type, filename, size, sha256, content)
				VALUES ($1, $2, $3, $4, $5, $6) RETURNING id)
			INSERT INTO validation_runs (id, org_id, workflow_id, workflow_version, submission_id, idempotency_key_id,
				source, state, created_at)
			SELECT $7, $1, $8, $9, id, $10, 'API', 'PENDING', $11 FROM submission`,
			flow.orgID, r.Header.Get("Content-Type"), r.Header.Get("X-Filename"), len(content),
			hex.EncodeToString(digest[:]), content, runID, flow.id, flow.version, keyID, now)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		_, err = a.jobs.InsertTx(ctx, tx, execution{RunID: runID}, nil)
		return err
	})
}

func fingerprint(r *http.Request, content []byte) string {
	digest := sha256.New()
	for _, part := range []string{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), ""} {
		digest.Write([]byte(part + "\x00"))
	}
	digest.Write(content)
	return hex.EncodeToString(digest.Sum(nil))
}
