package browser

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

//go:embed npm
var listed embed.FS

// tools are the programs that judge pages.
type tools struct {
	coretest.Folder

	// axe is the source of axe-core.
	axe string
}

func installTools(ctx context.Context) (tools, error) {
	files, err := fs.Sub(listed, "npm")
	if err != nil {
		return tools{}, fmt.Errorf("list the tools: %w", err)
	}
	folder, err := coretest.InstallNPM(ctx, files, "pages")
	if err != nil {
		return tools{}, fmt.Errorf("install the tools: %w", err)
	}
	axe, err := os.ReadFile(folder.Path("node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return tools{}, fmt.Errorf("read axe-core: %w", err)
	}
	return tools{Folder: folder, axe: string(axe)}, nil
}
