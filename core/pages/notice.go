package pages

import (
	"encoding/base64"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

const (
	noticeCookie = "sv_notice"
	// noticeLife is how long a notice waits for its page.
	noticeLife = time.Minute
)

// Redirect answers a form that has done its work: the browser goes to a page, which shows the notice once. "" is none.
func Redirect(c echo.Context, address, notice string) error {
	if notice != "" {
		SetCookie(c, noticeCookie, base64.RawURLEncoding.EncodeToString([]byte(notice)), noticeLife)
	}
	return c.Redirect(http.StatusSeeOther, address)
}

// takeNotice returns the notice that waits for this page and forgets it.
func takeNotice(c echo.Context) string {
	kept := Cookie(c, noticeCookie)
	if kept == "" {
		return ""
	}
	SetCookie(c, noticeCookie, "", 0)
	text, err := base64.RawURLEncoding.DecodeString(kept)
	if err != nil {
		return ""
	}
	return string(text)
}
