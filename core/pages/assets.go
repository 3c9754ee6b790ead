package pages

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/labstack/echo/v4"
	"github.com/tdewolff/minify/v2"
	"github.com/tdewolff/minify/v2/css"
	"github.com/tdewolff/minify/v2/js"
)

//go:embed static/*
var static embed.FS

const assetsRoot = "/static/"

// fonts has Inter, in the parts that Google Fonts makes of its version 20, and its license. The files have addresses
// that style sheets can name, those of the documentation as well: their names hold a version in place of a digest.
//
//go:embed fonts/*
var fonts embed.FS

// assets are the files that pages load, by their names.
type assets map[string]asset

type asset struct {
	// address holds a digest of the file, so that a browser may keep it for ever.
	address   string
	mediaType string
	body      []byte
	// packed is the body compressed with gzip.
	packed []byte
}

func newAssets() (assets, error) {
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		return nil, fmt.Errorf("list the assets: %w", err)
	}
	found := assets{}
	if err := found.addFonts(); err != nil {
		return nil, err
	}
	minifier := minify.New()
	minifier.AddFunc(".css", css.Minify)
	minifier.AddFunc(".js", js.Minify)
	for _, file := range names {
		body, err := fs.ReadFile(static, file)
		if err != nil {
			return nil, fmt.Errorf("read asset: %w", err)
		}
		if body, err = minifier.Bytes(path.Ext(file), body); err != nil && !errors.Is(err, minify.ErrNotExist) {
			return nil, fmt.Errorf("minify %s: %w", file, err)
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

func (a assets) addFonts() error {
	files, err := fs.Glob(fonts, "fonts/*")
	if err != nil {
		return fmt.Errorf("list the fonts: %w", err)
	}
	for _, file := range files {
		body, err := fs.ReadFile(fonts, file)
		if err != nil {
			return fmt.Errorf("read font: %w", err)
		}
		name := path.Base(file)
		a[name] = asset{address: assetsRoot + name, mediaType: mediaTypeOf(path.Ext(name)), body: body}
	}
	return nil
}

func mediaTypeOf(ending string) string {
	switch ending {
	case ".woff2":
		return "font/woff2"
	case ".txt":
		return "text/plain; charset=utf-8"
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
		if file.packed, err = pack(file.body); err != nil {
			return err
		}
		e.GET(file.address, file.serve)
	}
	e.POST(Root+"theme/", setTheme)
	e.POST(Root+"shortcut/", setShortcut)
	return nil
}

// pack compresses a file once for all who load it.
func pack(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress an asset: %w", err)
	}
	if _, err := writer.Write(body); err != nil {
		return nil, fmt.Errorf("compress an asset: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress an asset: %w", err)
	}
	return packed.Bytes(), nil
}

func (a asset) serve(c echo.Context) error {
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	header.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
	body := a.body
	if strings.Contains(c.Request().Header.Get(echo.HeaderAcceptEncoding), "gzip") {
		header.Set(echo.HeaderContentEncoding, "gzip")
		body = a.packed
	}
	return c.Blob(http.StatusOK, a.mediaType, body)
}
