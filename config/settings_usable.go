package config

import (
	"net/mail"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/keyring"
	mailer "github.com/simplevalidations/simplevalidations/core/mail"
	"github.com/simplevalidations/simplevalidations/tasks"
)

// maxCellName is how long the name of a cell may be in a token.
const maxCellName = 16

// unusable says which settings the parts that use them could not read.
func unusable(settings Settings) []api.FieldError {
	var problems []api.FieldError
	add := func(name, detail string) {
		problems = append(problems, api.FieldError{Pointer: "/" + name, Detail: detail})
	}
	checkAddresses(settings, add)
	checkBaseURL(settings, add)
	if _, err := keyring.Parse(string(settings.SecretKey)); err != nil {
		add("SV_SECRET_KEY", "is not usable: "+err.Error()+"; make one with openssl rand -base64 32")
	}
	if len(settings.Cell) > maxCellName || strings.Trim(settings.Cell, "0123456789abcdefghijklmnopqrstuvwxyz") != "" {
		add("SV_CELL", "must be up to 16 lower-case letters and digits")
	}
	if settings.MailFrom != "" {
		if _, err := mail.ParseAddress(settings.MailFrom); err != nil {
			add("SV_MAIL_FROM", `is not an address such as "Validations <validations@example.com>"`)
		}
	}
	if err := tasks.CheckSchedule(settings.PurgeSchedule); err != nil {
		add("SV_PURGE_SCHEDULE", "is not usable: "+err.Error())
	}
	return problems
}

// checkBaseURL looks at the URL that clients use.
func checkBaseURL(settings Settings, add func(name, detail string)) {
	// Links in mails, and the way back from the provider, must not depend on what a request says that it was sent to.
	if settings.BaseURL == "" && (settings.SMTPURL != "" || settings.OIDCIssuer != "") {
		add("SV_BASE_URL", "is needed for SV_SMTP_URL and SV_OIDC_ISSUER: set it to the public URL of the service")
	}
	if address, err := url.Parse(settings.BaseURL); err == nil &&
		(strings.Trim(address.Path, "/") != "" || address.RawQuery != "" || address.User != nil) {
		add("SV_BASE_URL", "must end with the host or its port: the service needs a host name of its own")
	}
}

// checkAddresses looks at those of PostgreSQL, Redis and the mail server.
func checkAddresses(settings Settings, add func(name, detail string)) {
	check := func(name string, address Secret, parse func(string) error) {
		if address == "" {
			return
		}
		if err := parse(string(address)); err != nil {
			add(name, unreadableAddress(address, err))
		}
	}
	ofDatabase := func(address string) error {
		_, err := pgxpool.ParseConfig(address)
		return err
	}
	check("DATABASE_URL", settings.DatabaseURL, ofDatabase)
	check("DATABASE_DIRECT_URL", settings.DatabaseDirectURL, ofDatabase)
	if settings.DatabaseDirectURL != "" && settings.DatabaseURL == "" {
		add("DATABASE_DIRECT_URL", "needs DATABASE_URL, the URL of the pooler")
	}
	check("REDIS_URL", settings.RedisURL, func(address string) error {
		_, err := tasks.ParseRedisURL(address)
		return err
	})
	check("SV_SMTP_URL", settings.SMTPURL, func(address string) error {
		_, err := mailer.New(mailer.Config{URL: address, From: "any@example.com"})
		return err
	})
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
