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
	"sync"

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
	// body is the file, and packed the file compressed with gzip. Each is made when a browser first asks for it.
	body, packed func() ([]byte, error)
}

func newAssets() (assets, error) {
	found := assets{}
	if err := found.addFonts(); err != nil {
		return nil, err
	}
	names, err := fs.Glob(static, "static/*")
	if err != nil {
		return nil, fmt.Errorf("list the assets: %w", err)
	}
	for _, file := range names {
		source, err := fs.ReadFile(static, file)
		if err != nil {
			return nil, fmt.Errorf("read asset: %w", err)
		}
		name, ending := path.Base(file), path.Ext(file)
		digest := sha256.Sum256(source)
		address := assetsRoot + strings.TrimSuffix(name, ending) + "." + hex.EncodeToString(digest[:6]) + ending
		found[name] = newAsset(address, ending, func() ([]byte, error) { return minified(ending, source) })
	}
	return found, nil
}

func (a assets) addFonts() error {
	files, err := fs.Glob(fonts, "fonts/*")
	if err != nil {
		return fmt.Errorf("list the fonts: %w", err)
	}
	for _, file := range files {
		name := path.Base(file)
		a[name] = newAsset(assetsRoot+name, path.Ext(name), func() ([]byte, error) { return fs.ReadFile(fonts, file) })
	}
	return nil
}

func newAsset(address, ending string, read func() ([]byte, error)) asset {
	body := sync.OnceValues(read)
	return asset{
		address: address, mediaType: mediaTypeOf(ending), body: body,
		packed: sync.OnceValues(func() ([]byte, error) {
			text, err := body()
			if err != nil {
				return nil, err
			}
			return pack(text)
		}),
	}
}

func minified(ending string, source []byte) ([]byte, error) {
	minifier := minify.New()
	minifier.AddFunc(".css", css.Minify)
	minifier.AddFunc(".js", js.Minify)
	body, err := minifier.Bytes(ending, source)
	if err != nil && !errors.Is(err, minify.ErrNotExist) {
		return nil, fmt.Errorf("minify a file of type %s: %w", ending, err)
	}
	return body, nil
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
	read, encoding := a.body, ""
	if strings.Contains(c.Request().Header.Get(echo.HeaderAcceptEncoding), "gzip") {
		read, encoding = a.packed, "gzip"
	}
	body, err := read()
	if err != nil {
		return err
	}
	header := c.Response().Header()
	header.Set(echo.HeaderCacheControl, "public, max-age=31536000, immutable")
	header.Set(echo.HeaderVary, echo.HeaderAcceptEncoding)
	if encoding != "" {
		header.Set(echo.HeaderContentEncoding, encoding)
	}
	return c.Blob(http.StatusOK, a.mediaType, body)
}
