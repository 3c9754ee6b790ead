package config_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	module   = "github.com/simplevalidations/simplevalidations"
	coretest = "core/coretest"
)

// layer is a folder and the layers that its packages, and those that its tests may import besides their own.
type layer struct {
	folder   string
	may      []string
	testsMay []string
}

// layers reads from the bottom to the top. A package belongs to the longest folder that holds it; core holds no
// package but itself, so that a new one inside it needs a line here.
func layers() []layer {
	foundation := []string{
		"core", "core/api", "core/cli", "core/client", "core/coalesce", "core/db", "core/idempotency",
		"core/idempotency/admin", "core/flush", "core/jobs", "core/keyring", "core/mail", "core/mediatype",
		"core/metrics", "core/pages", "core/requestlog", "core/share", "core/tracing", "docs", "migrations",
	}
	packagesOfCore := []string{"core", "core/api", "core/db"}
	partsOfEngines := []string{
		"core/mediatype", "validations/engines/engine", "validations/engines/expression",
		"validations/engines/program", "validations/engines/tree", "validations/engines/xmltext",
		"validations/programs/port",
	}
	return []layer{
		{folder: "core", may: []string{"core/api", "core/db"}},
		{folder: "core/api"},
		{folder: "core/cli"},
		{folder: "core/coalesce"},
		{folder: "core/db", may: []string{"core/coalesce"}},
		{folder: "docs"},
		{folder: "migrations"},
		{folder: "core/client", may: []string{"core/api"}, testsMay: []string{"core"}},
		{folder: "core/embedded", may: packagesOfCore},
		{folder: "core/idemcheck", may: []string{"core"}},
		{folder: "core/idempotency", may: append([]string{"core/metrics"}, packagesOfCore...)},
		{
			folder: "core/idempotency/admin",
			may: []string{
				"core", "core/api", "core/db", "core/flush", "core/idempotency", "core/metrics", "core/pages",
				"core/requestlog",
			},
		},
		{folder: "core/flush", may: packagesOfCore},
		{folder: "core/jobs", may: packagesOfCore},
		{folder: "core/keyring", may: packagesOfCore},
		{folder: "core/mail"},
		{folder: "core/mediatype"},
		{folder: "core/tracing"},
		{folder: "core/metrics", may: append([]string{"core/share"}, packagesOfCore...)},
		{folder: "core/pages", may: packagesOfCore},
		{folder: "core/share", may: packagesOfCore},
		{
			folder: "core/requestlog",
			may: append([]string{
				"core/flush", "core/idempotency", "core/metrics", "core/pages", "core/share",
			}, packagesOfCore...),
		},
		{
			folder: coretest,
			may: []string{
				"core", "core/api", "core/client", "core/db", "core/embedded", "core/idemcheck", "core/idempotency",
				"core/jobs", "core/metrics", "docs", "migrations",
			},
		},
		{folder: "users/mails", may: foundation},
		{folder: "users/account", may: append([]string{"users/mails"}, foundation...)},
		{folder: "users/quota", may: foundation},
		{folder: "users/factors", may: append([]string{"users/account"}, foundation...)},
		{
			folder: "users/signin",
			may:    append([]string{"users/account", "users/factors", "users/mails"}, foundation...),
		},
		{folder: "users/access", may: append([]string{"users/account", "users/mails", "users/signin"}, foundation...)},
		{folder: "users/audit", may: append([]string{"users/access", "users/account"}, foundation...)},
		{
			folder: "users",
			may: append([]string{
				"users/access", "users/account", "users/audit", "users/factors", "users/mails", "users/quota",
				"users/signin",
			}, foundation...),
		},
		{
			folder: "users/commands",
			may:    append([]string{"users", "users/access", "users/account"}, foundation...),
		},
		{
			folder: "tasks",
			may: []string{
				"core", "core/api", "core/client", "core/coalesce", "core/db", "core/embedded", "core/idempotency",
				"core/jobs", "core/pages", "core/share",
			},
		},
		{folder: "validations/programs/port"},
		{folder: "validations/engines/engine"},
		{
			folder: "validations/engines/program",
			may:    []string{"validations/engines/engine", "validations/programs/port"},
		},
		{folder: "validations/engines/expression", may: []string{"validations/engines/engine"}},
		{
			folder: "validations/engines/xmltext",
			may:    []string{"validations/engines/engine", "validations/programs/port"},
		},
		{
			folder: "validations/engines/tree",
			may:    []string{"validations/engines/engine", "validations/engines/xmltext"},
		},
		{folder: "validations/engines", may: partsOfEngines},
		{folder: "validations/objects", may: []string{"core/db"}},
		{folder: "validations", may: append([]string{
			"users/quota", "validations/engines", "validations/objects",
		}, foundation...)},
		{folder: "validations/execution", may: append([]string{
			"validations", "validations/engines", "validations/objects",
		}, foundation...)},
		{
			folder: "validations/web",
			may: append([]string{
				"users", "users/quota", "validations", "validations/engines",
				"validations/execution",
			}, foundation...),
		},
		{folder: "workflows/start/body", may: append([]string{"validations"}, foundation...)},
		{
			folder: "workflows/start",
			may: append(
				[]string{"users", "users/quota", "validations", "validations/execution", "workflows/start/body"},
				foundation...),
		},
		{
			folder: "workflows/files",
			may: append(
				[]string{"validations", "validations/engines", "validations/execution"}, foundation...),
		},
		{
			folder: "workflows",
			may: append([]string{
				"users", "users/quota", "validations", "validations/engines", "validations/execution",
				"workflows/files", "workflows/start", "workflows/start/body",
			}, foundation...),
		},
		{
			folder: "workflows/editor",
			may: append([]string{
				"validations", "validations/engines", "validations/execution", "workflows", "workflows/files",
			}, foundation...),
		},
		{folder: "config/health", may: append([]string{
			"tasks", "users", "validations", "validations/execution",
		}, foundation...)},
		{folder: "config/idemcheck", may: []string{
			"core", "core/api", "core/cli", "core/idemcheck", "validations", "validations/engines",
		}},
		{folder: "config/archive", may: append([]string{"validations", "validations/objects"}, foundation...)},
		{folder: "config/remote", may: append([]string{
			"config/health", "users", "validations", "validations/engines", "workflows/files",
		}, foundation...)},
		{folder: "config/edge", may: append([]string{
			"users/access", "validations/engines/engine", "workflows/files",
		}, foundation...)},
		{
			folder: "config",
			may: append([]string{
				"config/archive", "config/edge", "config/health", "tasks", "users",
				"users/access", "users/factors", "users/quota", "users/signin", "validations", "validations/engines",
				"validations/engines/engine", "validations/execution", "validations/objects", "validations/web",
				"workflows", "workflows/editor", "workflows/files", "workflows/start", "workflows/start/body",
			}, foundation...),
		},
		{
			folder: "config/cmd",
			may: append([]string{
				"config", "config/archive", "config/health", "config/idemcheck", "config/remote", "core/embedded",
				"tasks", "users",
				"users/commands", "users/signin", "validations", "validations/engines", "validations/execution",
				"validations/objects", "workflows", "workflows/files", "workflows/start", "workflows/start/body",
			}, foundation...),
		},
		{folder: "config/tests", may: append([]string{
			"config", "config/cmd", "config/edge", "config/health", coretest, "tasks", "users", "users/access",
			"users/quota", "users/signin", "validations", "validations/engines", "validations/execution",
			"validations/web", "workflows",
		}, foundation...)},
		{folder: ".", may: []string{"config/cmd"}},
	}
}

func TestImports(t *testing.T) {
	t.Parallel()

	files := goFiles(t)
	for _, l := range layers() {
		t.Run(l.folder, func(t *testing.T) {
			t.Parallel()
			for _, file := range files {
				if folderOf(path.Dir(file)) != l.folder {
					continue
				}
				for _, imported := range importsOf(t, file) {
					checkImport(t, l, file, imported)
				}
			}
		})
	}
}

func TestEveryPackageHasALayer(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		if dir := path.Dir(file); folderOf(dir) == "" {
			t.Errorf("%s belongs to no layer, want a line for %s in layers", file, dir)
		}
	}
}

func TestTopLevel(t *testing.T) {
	t.Parallel()

	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		if !isIgnored(entry.Name()) {
			got = append(got, entry.Name())
		}
	}
	want := []string{
		"LICENSE", "Makefile", "README.md", "config", "core", "docs", "go.mod", "go.sum",
		"main.go", "migrations", "tasks", "users", "validations", "workflows",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("top level (-want +got):\n%s", diff)
	}
}

// keepsSQLApart reports whether the statements of pgx of a package stand in files named sql_*.go, as
// docs/adr/0008-gorm-and-pgx.md decides. Packages of users without such a file speak GORM alone, views send nothing.
func keepsSQLApart(tb testing.TB, folder string) bool {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", folder, "sql_*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	return len(files) > 0 || strings.HasPrefix(folder, "users") || folder == "validations/web"
}

func TestSQLStandsInItsFiles(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		name := path.Base(file)
		if strings.HasSuffix(name, "_test.go") || !keepsSQLApart(t, path.Dir(file)) {
			continue
		}
		if isPage := strings.HasPrefix(name, "page_"); isPage && slices.Contains(importsOf(t, file), "core/db") {
			t.Errorf("%s imports core/db, want its transactions and statements in services and sql_*.go", file)
		}
		if strings.HasPrefix(name, "sql_") {
			continue
		}
		for _, call := range sqlCalls(t, file) {
			t.Errorf("%s sends SQL, want it in a file named sql_*.go, or a model read and written by GORM", call)
		}
	}
}

// sqlCalls returns the places of a file that send or queue a statement: the methods of pools, transactions, batches and
// reads, and the functions of core/db. A method of another type with the same name has another number of arguments.
func sqlCalls(tb testing.TB, file string) []string {
	tb.Helper()
	// The least number of arguments of each.
	methods := map[string]int{"Exec": 2, "Query": 2, "QueryRow": 2, "Queue": 1, "SendBatch": 2, "CopyFrom": 4}
	functions := []string{"Lookup", "QueueInto"}
	// An option of a task, and a metric of batches.
	others := []string{"asynq", "measured"}
	places := token.NewFileSet()
	parsed, err := parser.ParseFile(places, filepath.Join("..", file), nil, 0)
	if err != nil {
		tb.Fatal(err)
	}
	var found []string
	ast.Inspect(parsed, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		called, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		owner, _ := called.X.(*ast.Ident)
		atLeast, isMethod := methods[called.Sel.Name]
		sends := isMethod && len(call.Args) >= atLeast && (owner == nil || !slices.Contains(others, owner.Name))
		if owner != nil && owner.Name == "db" {
			sends = slices.Contains(functions, called.Sel.Name)
		}
		if sends {
			found = append(found, places.Position(call.Pos()).String())
		}
		return true
	})
	return found
}

func checkImport(tb testing.TB, l layer, file, imported string) {
	tb.Helper()
	folder := folderOf(imported)
	if folder == l.folder || slices.Contains(l.may, folder) {
		return
	}
	// The tests of config and of its rooms use a fixture that imports them.
	isOfConfig := l.folder == "config" || strings.HasPrefix(l.folder, "config/")
	isShared := folder == coretest || isOfConfig && slices.Contains([]string{"config", "config/tests"}, folder)
	if (isShared || slices.Contains(l.testsMay, folder)) && strings.HasSuffix(file, "_test.go") {
		return
	}
	tb.Errorf("%s imports %s, want only %s", file, imported, strings.Join(append([]string{l.folder}, l.may...), ", "))
}

// folderOf returns the layer's folder of a package, or nothing when the package has no layer.
func folderOf(pkg string) string {
	var folder string
	for _, l := range layers() {
		inside := l.folder != "core" && l.folder != "." && strings.HasPrefix(pkg, l.folder+"/")
		if (pkg == l.folder || inside) && len(l.folder) > len(folder) {
			folder = l.folder
		}
	}
	return folder
}

// goFiles lists the module's Go files by their path in it. Build tags are not looked at: a file that only some
// builds compile keeps to the layers as well.
func goFiles(tb testing.TB) []string {
	tb.Helper()
	return goFilesBut(tb, isSkipped)
}

// goFilesBut lists the Go files outside of the folders that are skipped.
func goFilesBut(tb testing.TB, skips func(dir string) bool) []string {
	tb.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && skips(name) {
			return fs.SkipDir
		}
		if !entry.IsDir() && path.Ext(name) == ".go" {
			files = append(files, name)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) == 0 {
		tb.Fatal("found 0 Go files, want those of the module")
	}
	return files
}

// isIgnored tells dot files, and what is built or installed at the top level but is not part of the product.
func isIgnored(name string) bool {
	return slices.Contains([]string{"bin", "build", "node_modules"}, name) || strings.HasPrefix(name, ".") ||
		slices.Contains([]string{".test", ".out"}, path.Ext(name))
}

// isSkipped tells folders that are not of this module: those aside, and the modules inside.
func isSkipped(dir string) bool {
	_, err := os.Stat(filepath.Join("..", dir, "go.mod"))
	return isAside(dir) || dir != "." && err == nil
}

// isAside tells folders that are of no package: what is hidden, and data.
func isAside(dir string) bool {
	base := path.Base(dir)
	return dir != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules")
}

// importsOf returns what a file imports of the module, by path in it; the module's root is ".".
func importsOf(tb testing.TB, file string) []string {
	tb.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", file), nil, parser.ImportsOnly)
	if err != nil {
		tb.Fatal(err)
	}
	var imported []string
	for _, spec := range parsed.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			tb.Fatalf("%s imports %s: %v", file, spec.Path.Value, err)
		}
		if name == module {
			imported = append(imported, ".")
		} else if inside, ours := strings.CutPrefix(name, module+"/"); ours {
			imported = append(imported, inside)
		}
	}
	return imported
}
