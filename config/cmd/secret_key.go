package cmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/core/cli"
	"github.com/simplevalidations/simplevalidations/core/db"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

// secretKeyFile holds the key of the data folder, where SV_SECRET_KEY is not set.
const secretKeyFile = "secret.key"

// missingSecretKey says how to make a key.
const missingSecretKey = "SV_SECRET_KEY is not set: secrets in the database are encrypted under it. " +
	"Make one with openssl rand -base64 32, keep it apart from backups of the database, and give it to every process"

// withSecretKey returns the settings with the key of the data folder where the database is in that folder and
// SV_SECRET_KEY is empty. The first call creates the key.
func withSecretKey(s config.Settings) (config.Settings, error) {
	if s.SecretKey != "" || s.DatabaseURL != "" {
		return s, nil
	}
	path := filepath.Join(s.DataDir, secretKeyFile)
	text, err := readSecretKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		// Of processes that create one at once, the first one's key stays. Without a flush a power failure could take
		// it back and leave what was encrypted under it.
		err = cli.WriteDurably(path, []byte(keyring.Generate()+"\n"), os.Link)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return config.Settings{}, fmt.Errorf("create the secret key: %w", err)
		}
		text, err = readSecretKey(path)
	}
	if err != nil {
		return config.Settings{}, err
	}
	s.SecretKey = config.Secret(text)
	return s, nil
}

// readSecretKey refuses a file that others may read or that holds no key.
func readSecretKey(path string) (string, error) {
	found, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("look at the secret key: %w", err)
	}
	if found.Mode().Perm()&0o077 != 0 {
		return "", &config.UsageError{Reason: path + " may be read by others: run chmod 600 on it"}
	}
	text, err := os.ReadFile(path) //nolint:gosec // G304: the folder is the operator's own setting.
	if err != nil {
		return "", fmt.Errorf("read the secret key: %w", err)
	}
	key := strings.TrimSpace(string(text))
	if _, err := keyring.Parse(key); err != nil || key == "" {
		return "", &config.UsageError{Reason: path + " holds no key: restore it from a copy of the data folder"}
	}
	return key, nil
}

// checkSecretKey refuses to serve with a key that does not open what the database holds.
func checkSecretKey(ctx context.Context, database *db.DB, settings config.Settings) error {
	keys, err := keyring.Parse(string(settings.SecretKey))
	if err != nil {
		return fmt.Errorf("read SV_SECRET_KEY: %w", err)
	}
	use, err := config.CheckKeys(ctx, database, keys)
	if err != nil {
		return err
	}
	if len(use.Unknown) > 0 {
		return &config.UsageError{Reason: "secrets in the database are encrypted under a key that SV_SECRET_KEY " +
			"does not have (" + strings.Join(use.Unknown, ", ") +
			"): add it behind the new one, separated by a comma"}
	}
	return nil
}
