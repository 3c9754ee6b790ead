package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	pageVisits = 20
	p95        = 95
)

// measurePages reads the pages of the organization with most of the rows.
func (c *course) measurePages(ctx context.Context) ([]goal, error) {
	keys, err := c.keys(ctx)
	if err != nil {
		return nil, err
	}
	cookie, err := c.signIn(ctx)
	if err != nil {
		return nil, err
	}
	client, err := dial(ctx, c.world.address)
	if err != nil {
		return nil, err
	}
	defer client.close()
	var goals []goal
	for _, page := range []string{"", "runs/", "keys/", "workflows/", "usage/", "audit/"} {
		path := "/app/orgs/" + fmt.Sprintf("org-%d", allTenants) + "/" + page
		var taken latencies
		for range pageVisits {
			begun := time.Now()
			got, err := client.send("GET " + path + " HTTP/1.1\r\nHost: bench\r\nAccept: text/html\r\nCookie: " +
				cookie + "\r\n\r\n")
			if err != nil {
				return nil, err
			}
			if got.status != http.StatusOK {
				return nil, fmt.Errorf("page %s was answered with %d: %s", path, got.status, got.body)
			}
			taken = append(taken, time.Since(begun))
		}
		slices.Sort(taken)
		goals = append(goals, goal{
			what:  fmt.Sprintf("page %s with %s keys and runs, p95", path, thousands(float64(keys))),
			bound: atMost(150, unitMillis), values: []float64{millisOf(taken, p95)},
			note: fmt.Sprintf("p50 %.1f ms", millisOf(taken, 50)),
		})
	}
	return goals, nil
}

// signIn makes the user an owner with a session, and returns its cookie.
func (c *course) signIn(ctx context.Context) (string, error) {
	secret := rand.Text()
	digest := sha256.Sum256([]byte(secret))
	if _, err := c.world.db.Exec(ctx, "UPDATE memberships SET role = 'owner' WHERE org_id = $1",
		orgID(allTenants)); err != nil {
		return "", fmt.Errorf("make an owner: %w", err)
	}
	if _, err := c.world.db.Exec(ctx, `INSERT INTO sessions (digest, user_id, expires_at)
		VALUES ($1, $2, now() + interval '1 day')`, digest[:], userID); err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	return "sv_session=" + secret, nil
}
