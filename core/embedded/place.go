package embedded

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

const (
	// fallbackRoot holds the clusters of folders that the server's user cannot reach, such as those under /root.
	fallbackRoot = "/var/lib/simplevalidations"
	movedNote    = "MOVED_TO"
	// longestSocket stays below the 104 bytes that macOS allows for the name of a socket; Linux allows 108.
	longestSocket = 100
	socketName    = ".s.PGSQL.5432"
)

// settle returns the folder where the cluster of base really is, and the user that it runs as. If that user cannot
// reach base, the cluster is in a folder under fallbackRoot, and a note in base says so.
func settle(ctx context.Context, base string, log *slog.Logger) (string, account, error) {
	dir, moved, err := readNote(base)
	if err != nil {
		return "", account{}, err
	}
	who, err := accountFor(dataIn(dir))
	if err != nil {
		return "", account{}, err
	}
	reachable, err := open(ctx, who, dir)
	if err != nil {
		return "", account{}, err
	}
	if reachable {
		return dir, who, nil
	}
	if moved || exists(dataIn(dir)) {
		return "", account{}, fmt.Errorf("user %s, who runs PostgreSQL for root, cannot reach %s: open its parents "+
			"to the user with chmod o+x", who.name, dir)
	}
	dir, who, err = move(ctx, base)
	if err != nil {
		return "", account{}, err
	}
	log.WarnContext(ctx, "moved the database to where its user can reach it", "from", base, "to", dir,
		"user", who.name)
	return dir, who, nil
}

// move chooses the same folder for the same base every time, so that a lost note loses no data.
func move(ctx context.Context, base string) (string, account, error) {
	dir := filepath.Join(fallbackRoot, "postgres-"+digest(base))
	if err := makePassable(dir); err != nil {
		return "", account{}, err
	}
	who, err := accountFor(dataIn(dir))
	if err != nil {
		return "", account{}, err
	}
	reachable, err := open(ctx, who, dir)
	if err != nil {
		return "", account{}, err
	}
	if !reachable {
		return "", account{}, fmt.Errorf("user %s, who runs PostgreSQL for root, can reach neither %s nor %s",
			who.name, base, dir)
	}
	if err := os.WriteFile(filepath.Join(base, movedNote), []byte(dir+"\n"), 0o600); err != nil {
		return "", account{}, fmt.Errorf("note where the database is: %w", err)
	}
	return dir, who, nil
}

// open lets the server's user pass through dir, which stays root's, and reports whether that was enough.
func open(ctx context.Context, who account, dir string) (bool, error) {
	if who.credential == nil {
		return true, nil
	}
	found, err := os.Stat(dir)
	if err != nil {
		return false, fmt.Errorf("look at folder: %w", err)
	}
	if err := os.Chmod(dir, found.Mode()|0o011); err != nil {
		return false, fmt.Errorf("open folder to user %s: %w", who.name, err)
	}
	return who.canEnter(ctx, dir)
}

func readNote(base string) (string, bool, error) {
	text, err := readFile(filepath.Join(base, movedNote))
	if errors.Is(err, os.ErrNotExist) {
		return base, false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read where the database is: %w", err)
	}
	dir := strings.TrimSpace(string(text))
	return dir, true, makePassable(dir)
}

// makeSocketDir returns an empty folder for the server's socket: run in dir, or one in the temp folder when the name
// of the socket would be too long, or hold the comma that separates hosts in a connection string.
func makeSocketDir(ctx context.Context, who account, dir string) (string, error) {
	run, err := socketDir(ctx, who, dir)
	if err != nil {
		return "", err
	}
	// A lock file of a killed server keeps the next one from starting while the killed one is a zombie.
	if err := os.RemoveAll(run); err != nil {
		return "", fmt.Errorf("empty socket folder: %w", err)
	}
	// Mkdir fails if the folder exists, so that no other user can have made it.
	if err := os.Mkdir(run, 0o700); err != nil {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	return run, who.own(run)
}

func socketDir(ctx context.Context, who account, dir string) (string, error) {
	if run := filepath.Join(dir, "run"); fitsSocket(run) {
		return run, nil
	}
	run := ".pg-" + digest(dir)
	if temp := filepath.Join(os.TempDir(), run); fitsSocket(temp) {
		if ok, err := who.canEnter(ctx, os.TempDir()); ok || err != nil {
			return temp, err
		}
	}
	return "/tmp/" + run, nil
}

func fitsSocket(dir string) bool {
	return len(filepath.Join(dir, socketName)) <= longestSocket && !strings.Contains(dir, ",")
}

func dataIn(dir string) string { return filepath.Join(dir, "data") }

func digest(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }

func syncDir(path string) error {
	dir, err := os.Open(path) //nolint:gosec // G304: the folder is the operator's own setting.
	if err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
