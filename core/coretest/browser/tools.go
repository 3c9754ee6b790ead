package browser

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/simplevalidations/simplevalidations/core/coretest/npm"
)

//go:embed npm
var listed embed.FS

// tools are the programs that judge pages.
type tools struct {
	folder string
	// axe is the source of axe-core.
	axe string
}

// installTools finds the tools in the user's cache, where npm puts them once for each change of what is listed.
func installTools(ctx context.Context) (tools, error) {
	files, err := fs.Sub(listed, "npm")
	if err != nil {
		return tools{}, fmt.Errorf("list the tools: %w", err)
	}
	folder, err := npm.Install(ctx, "pages", files)
	if err != nil {
		return tools{}, err
	}
	axe, err := os.ReadFile(filepath.Join(folder, "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return tools{}, fmt.Errorf("read axe-core: %w", err)
	}
	return tools{folder: folder, axe: string(axe)}, nil
}
