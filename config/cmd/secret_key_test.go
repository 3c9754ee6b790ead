package cmd_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/config"
	"github.com/simplevalidations/simplevalidations/config/cmd"
	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/keyring"
)

func TestSecretKeyOfTheDataFolder(t *testing.T) {
	t.Parallel()

	t.Run("IsCreatedOnce", func(t *testing.T) {
		t.Parallel()
		settings := config.Settings{DataDir: filepath.Join(t.TempDir(), "data")}
		const processes = 8
		keys := make([]config.Secret, processes)
		var group sync.WaitGroup
		for i := range processes {
			group.Go(func() {
				got, err := cmd.WithSecretKey(settings)
				if err != nil {
					t.Error(err)
				}
				keys[i] = got.SecretKey
			})
		}
		group.Wait()
		for _, key := range keys {
			if ring, err := keyring.Parse(string(key)); err != nil || len(ring.IDs()) != 1 || key != keys[0] {
				t.Fatalf("key = %v, want the one of all processes", err)
			}
		}
		files, err := os.ReadDir(settings.DataDir)
		if err != nil || len(files) != 1 {
			t.Fatalf("files = %v, %v, want the key alone", files, err)
		}
		if found, err := files[0].Info(); err != nil || found.Mode().Perm() != 0o600 {
			t.Errorf("mode = %v, %v, want 0600", found.Mode(), err)
		}
	})

	t.Run("IsNotUsedWhereOneIsSet", func(t *testing.T) {
		t.Parallel()
		settings := config.Settings{DataDir: filepath.Join(t.TempDir(), "data"), SecretKey: fixture.SecretKey}
		if got, err := cmd.WithSecretKey(settings); err != nil || got.SecretKey != fixture.SecretKey {
			t.Errorf("key = %q, %v, want the one of the settings", got.SecretKey, err)
		}
		settings.SecretKey, settings.DatabaseURL = "", "postgres://db.example/app"
		if got, err := cmd.WithSecretKey(settings); err != nil || got.SecretKey != "" {
			t.Errorf("key = %q, %v, want none beside another database", got.SecretKey, err)
		}
		if _, err := os.Stat(settings.DataDir); !os.IsNotExist(err) {
			t.Errorf("data folder: %v, want none", err)
		}
	})

	t.Run("IsRefusedWhereOthersMayReadIt", func(t *testing.T) {
		t.Parallel()
		settings := config.Settings{DataDir: t.TempDir()}
		if _, err := cmd.WithSecretKey(settings); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(settings.DataDir, "secret.key")
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.WithSecretKey(settings); err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf("open file: %v, want what to do", err)
		}
		if err := os.WriteFile(path, []byte("\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cmd.WithSecretKey(settings); err == nil || !strings.Contains(err.Error(), "holds no key") {
			t.Errorf("empty file: %v, want that it holds no key", err)
		}
	})
}

func TestServeNeedsTheSecretKey(t *testing.T) {
	t.Parallel()
	c := fixture.SetupConsole(t)
	without := c
	without.Environ = append(slices.Clip(without.Environ), "SV_SECRET_KEY=")
	code, _, complaint := without.Run(t, "serve")
	if code != 2 || !strings.Contains(complaint, "openssl rand -base64 32") {
		t.Errorf("serve without a key = %d, %s; want 2 and how to make one", code, complaint)
	}
	wrong := c
	wrong.Environ = append(slices.Clip(wrong.Environ), "SV_SECRET_KEY=hunter2")
	code, _, complaint = wrong.Run(t, "serve")
	if code != 2 || !strings.Contains(complaint, "SV_SECRET_KEY") || strings.Contains(complaint, "hunter2") {
		t.Errorf("serve with a wrong key = %d, %s; want 2 and no key", code, complaint)
	}
	if code, shown, _ := c.Run(t, "config", "show"); code != 0 || strings.Contains(shown, fixture.SecretKey) {
		t.Errorf("config show = %d, %s; want no key", code, shown)
	}
}
