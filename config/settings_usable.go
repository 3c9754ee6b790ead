package config

import (
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// unusable says which settings the parts that use them could not read.
func unusable(settings Settings) []core.FieldError {
	var problems []core.FieldError
	add := func(name, detail string) {
		problems = append(problems, core.FieldError{Pointer: "/" + name, Detail: detail})
	}
	checkDatabase := func(name string, address Secret) {
		if address == "" {
			return
		}
		if _, err := pgxpool.ParseConfig(string(address)); err != nil {
			add(name, unreadableAddress(address, err))
		}
	}
	checkDatabase("DATABASE_URL", settings.DatabaseURL)
	checkDatabase("DATABASE_DIRECT_URL", settings.DatabaseDirectURL)
	if settings.DatabaseDirectURL != "" && settings.DatabaseURL == "" {
		add("DATABASE_DIRECT_URL", "needs DATABASE_URL, the URL of the pooler")
	}
	if settings.RedisURL != "" {
		if _, err := tasks.ParseRedisURL(string(settings.RedisURL)); err != nil {
			add("REDIS_URL", unreadableAddress(settings.RedisURL, err))
		}
	}
	if _, err := keyring.Parse(string(settings.SecretKey)); err != nil {
		add("SV_SECRET_KEY", "is not usable: "+err.Error()+"; make one with openssl rand -base64 32")
	}
	if err := tasks.CheckSchedule(settings.PurgeSchedule); err != nil {
		add("SV_PURGE_SCHEDULE", "is not usable: "+err.Error())
	}
	return problems
}

// unreadableAddress gives the reason only where it is certain which part of the address is the password: one that
// holds a / or a @ ends up in a port or in a path, and from there in the reason.
func unreadableAddress(address Secret, err error) string {
	const unsaid = `is not a valid URL; write "/", "@", "?", "#" and "%" as %2F, %40, %3F, %23 and %25 in a password`
	parsed, parseErr := url.Parse(string(address))
	if parseErr != nil || strings.Count(string(address), "@") > 1 {
		return unsaid
	}
	if list := parsed.Scheme == "" && strings.Contains(string(address), "="); list {
		return unsaid
	}
	if parsed.User == nil && strings.Contains(string(address), "@") {
		return unsaid
	}
	reason := err.Error()
	if password, set := parsed.User.Password(); set && password != "" && strings.Contains(reason, password) {
		return unsaid
	}
	return "is not usable: " + reason
}
