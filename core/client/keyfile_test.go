package client_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/simplevalidations/simplevalidations/core/client"
)

func TestKeyFromFile(t *testing.T) {
	t.Parallel()

	t.Run("AgreesInARace", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		keys := make([]string, 16)
		var group sync.WaitGroup
		for i := range keys {
			group.Go(func() {
				var err error
				if keys[i], err = client.KeyFromFile(filepath.Join(folder, "key")); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for _, key := range keys {
			if key == "" || key != keys[0] {
				t.Errorf("keys = %q, want the same", keys)
				break
			}
		}
		if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
			t.Errorf("files = %v and error %v, want the key alone", files, err)
		}
	})

	t.Run("RefusesWhatIsNoKey", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "key")
		tooLong := strings.Repeat("k", 256)
		for _, content := range []string{"", "\n", "two words\n", "two\nlines\n", "schlüssel\n", tooLong} {
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if key, err := client.KeyFromFile(path); err == nil {
				t.Errorf("key of %q = %q, want an error", content, key)
			}
		}
		if _, err := client.KeyFromFile(filepath.Join(path, "below-a-file")); err == nil {
			t.Error("key in no folder has no error, want one")
		}
	})
}
