package users

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/pages"
)

// signInForm is what a visitor who signs in sends.
type signInForm struct {
	Email string `form:"email" validate:"max=254"`
	// Next is the page to go to.
	Next    string `form:"next"`
	Problem *core.Error
	// Provider is the name of the provider that people may also sign in with; "" for none.
	Provider string
	// ProviderAddress leads there.
	ProviderAddress string
}

// showSignIn is GET /app/sign-in/.
func (a *App) showSignIn(c echo.Context) error {
	return a.renderSignIn(c, http.StatusOK, signInForm{Next: pages.Inside(c.QueryParam("next"))})
}

func (a *App) renderSignIn(c echo.Context, status int, form signInForm) error {
	if provider := a.service.cfg.OpenID; provider != nil {
		form.Provider = provider.Name()
		form.ProviderAddress = openIDAddress + "?" + url.Values{"next": {form.Next}}.Encode()
	}
	return a.pages.Render(c, status, "sign_in", pages.Page{Title: "Sign in", Data: form})
}

// signIn is POST /app/sign-in/.
func (a *App) signIn(c echo.Context) error {
	var form signInForm
	var into signedInto
	err := core.BindForm(c, a.check, &form)
	form.Next = pages.Inside(form.Next)
	if err == nil {
		into, err = a.trySignIn(c, form)
	}
	if form.Problem = pages.Refusal(err); form.Problem != nil {
		return a.renderSignIn(c, pages.RefusalStatus(c, form.Problem), form)
	}
	if err != nil {
		return err
	}
	return enterInto(c, into, form.Next)
}

// enterInto redirects after a sign-in: to the page, or to the form for the code.
func enterInto(c echo.Context, into signedInto, next string) error {
	if into.session == "" {
		pages.SetCookie(c, stepCookie, into.step, stepLife)
		return pages.Redirect(c, codeAddress, "")
	}
	pages.SetCookie(c, sessionCookie, into.session, cookieLife)
	return pages.Redirect(c, next, "")
}

// trySignIn limits attempts by the network that they come from, and by account.
func (a *App) trySignIn(c echo.Context, form signInForm) (signedInto, error) {
	from, account := browserOf(c), normalizeEmail(form.Email)
	if err := a.mayGuess("network " + network(from.Address)); err != nil {
		return signedInto{}, err
	}
	// Guesses from other networks do not use up the attempts of a network with a recent sign-in to the account.
	subject := "account " + account
	if place := network(from.Address) + " " + account; a.familiar.Contains(place) {
		subject = "place " + place
	}
	if err := a.mayGuess(subject); err != nil {
		return signedInto{}, err
	}
	into, err := a.service.signIn(c.Request().Context(), form.Email, c.FormValue("password"), form.Next, from)
	if err == nil {
		a.familiar.Add(network(from.Address)+" "+account, struct{}{})
	}
	return into, err
}

// browserOf describes the browser that has sent the request.
func browserOf(c echo.Context) browser {
	return browser{Address: c.RealIP(), UserAgent: c.Request().UserAgent(), Secret: sessionSecret(c)}
}

// networkBits is the length of the prefix of an IPv6 address that its holder cannot change.
const networkBits = 64

// network is the key by which attempts are counted: an IPv4 address, or the /64 of an IPv6 address.
func network(address string) string {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	parsed = parsed.Unmap().WithZone("")
	if parsed.Is4() {
		return parsed.String()
	}
	return netip.PrefixFrom(parsed, networkBits).Masked().String()
}

// mayGuess counts an attempt with a password, because comparing one costs much memory and time. An attempt that is
// refused is not counted, so the limit slows guesses and never locks an account.
func (a *App) mayGuess(subject string) error {
	allowance := a.signIns.Allow(subjectID(subject))
	if allowance.Allowed() {
		return nil
	}
	refused := core.RateLimited("", allowance.Wait)
	refused.Detail = fmt.Sprintf("Too many password attempts. Try again in %s.",
		core.Plural(refused.RetrySeconds(), "second"))
	return refused
}

// mayMail counts a mail to an address that a member has chosen.
func (a *App) mayMail(principal core.Principal) error {
	if !a.service.mailsAreSent() {
		return nil
	}
	err := a.mayGuess("mails of " + principal.OrgID.String())
	if refused := pages.Refusal(err); refused != nil {
		refused.Detail = fmt.Sprintf("Your organization has sent many mails. Try again in %s.",
			core.Plural(refused.RetrySeconds(), "second"))
	}
	return err
}

func subjectID(subject string) uuid.UUID {
	digest := sha256.Sum256([]byte(subject))
	return uuid.UUID(digest[:16])
}

// signOut is POST /app/sign-out/.
func (a *App) signOut(c echo.Context) error {
	if err := a.service.SignOut(c.Request().Context(), browserOf(c)); err != nil {
		return err
	}
	pages.SetCookie(c, sessionCookie, "", 0)
	// The next user of the browser must not see cached pages.
	c.Response().Header().Set("Clear-Site-Data", `"cache"`)
	return c.Redirect(http.StatusSeeOther, pages.SignInAddress)
}

// home is GET /app/: the organization that the visitor used last.
func (a *App) home(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if visitor.Home == "" {
		return a.pages.Render(c, http.StatusOK, "no_organization", pages.Page{Title: "No organization"})
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Home))
}

// tokensOfHome is GET /app/users/api-key/, where the existing command line client sends its users for a token.
func (a *App) tokensOfHome(c echo.Context) error {
	visitor, _ := pages.VisitorFrom(c.Request().Context())
	if visitor.Home == "" {
		return a.home(c)
	}
	return c.Redirect(http.StatusSeeOther, pages.Base(visitor.Home)+"tokens/")
}
