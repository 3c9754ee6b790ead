package pages

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
)

//go:embed static/*
var static embed.FS

const assetsRoot = "/static/"

// assets are the files that pages load, by their names.
type assets map[string]asset

type asset struct {
	// address holds a digest of the file, so that a browser may keep it for ever.
	address   string
	mediaType string
	body      []byte
}

func newAssets() (assets, error) {
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		return nil, fmt.Errorf("list the assets: %w", err)
	}
	found := make(assets)
	for _, file := range names {
		body, err := fs.ReadFile(static, file)
		if err != nil {
			return nil, fmt.Errorf("read asset: %w", err)
		}
		name, ending := path.Base(file), path.Ext(file)
		digest := sha256.Sum256(body)
		found[name] = asset{
			address:   assetsRoot + strings.TrimSuffix(name, ending) + "." + hex.EncodeToString(digest[:6]) + ending,
			mediaType: mediaTypeOf(ending), body: body,
		}
	}
	return found, nil
}

func mediaTypeOf(ending string) string {
	switch ending {
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	default:
		return "image/svg+xml"
	}
}

// Register adds the files that pages load, and the choices that a browser keeps.
func Register(e *echo.Echo) error {
	found, err := newAssets()
	if err != nil {
		return err
	}
	for _, file := range found {
		e.GET(file.address, func(c echo.Context) error {
			c.Response().Header().Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
			return c.Blob(http.StatusOK, file.mediaType, file.body)
		})
	}
	e.POST(Root+"theme/", setTheme)
	e.POST(Root+"shortcut/", setShortcut)
	return nil
}
