package clients

import (
	"context"
	"crypto/ed25519"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/coretest"
)

//go:embed webhooks.json
var webhookTable []byte

// webhookCase is a request that every client verifies in the same way. What a case leaves out is that of the good
// request that the table begins with; an empty header is left out of the request.
type webhookCase struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	WebhookRequest

	// Ed25519 says that Python needs another package for it.
	Ed25519 bool `json:"ed25519"`
	// Type is that of the event, or Error what the error says.
	Type  string `json:"type"`
	Error string `json:"error"`
}

func webhookCases(tb testing.TB) []webhookCase {
	tb.Helper()
	var table struct {
		Given webhookCase       `json:"given"`
		Cases []json.RawMessage `json:"cases"`
	}
	if err := json.Unmarshal(webhookTable, &table); err != nil {
		tb.Fatal(err)
	}
	var cases []webhookCase
	for _, text := range table.Cases {
		c := table.Given
		c.Headers, c.Secrets = maps.Clone(c.Headers), nil
		if err := json.Unmarshal(text, &c); err != nil {
			tb.Fatal(err)
		}
		if c.Secrets == nil {
			c.Secrets = table.Given.Secrets
		}
		maps.DeleteFunc(c.Headers, func(_, value string) bool { return value == "" })
		cases = append(cases, c)
	}
	return cases
}

// TestWebhooks has each client verify the requests of the table.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	cases := webhookCases(t)
	without := isWithoutEd25519(t)
	for name, start := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := start(t)
			for _, c := range cases {
				t.Run(c.Name, func(t *testing.T) {
					t.Parallel()
					if c.Ed25519 && without && name == "Python" {
						c.Error = "simplevalidations[ed25519]"
					}
					got, err := driver.Do(t.Context(), Call{
						ID: c.Name, Op: "verify", Args: Command{Webhook: &c.WebhookRequest},
						BaseURL: "http://unused.example", Token: "unused", Options: DefaultOptions(),
					})
					switch {
					case err != nil:
						t.Error(err)
					case c.Error != "" && (got.OK || !strings.Contains(got.Text, c.Error)):
						t.Errorf("outcome = %t %q, want the error %q", got.OK, got.Text, c.Error)
					case c.Error == "" && (!got.OK || !slices.Equal(got.Items, []string{c.Type})):
						t.Errorf("outcome = %t %q %v, want an event %s", got.OK, got.Text, got.Items, c.Type)
					}
				})
			}
		})
	}
}

// isWithoutEd25519 reports whether this machine's Python has not the package that public keys take.
func isWithoutEd25519(tb testing.TB) bool {
	tb.Helper()
	return exec.CommandContext(tb.Context(), "python3", "-c", "import cryptography").Run() != nil
}

// TestVerifiersAgree signs random events as the service does and changes most of them. The clients and the libraries of
// Standard Webhooks accept and refuse the same, but for two properties of the libraries that changes names.
func TestVerifiersAgree(t *testing.T) {
	t.Parallel()
	const requests = 1000
	random, kinds := rand.New(rand.NewPCG(1, 2)), changes()
	cases := make([]signedCase, requests)
	for n := range cases {
		cases[n] = newSignedCase(t, random, n)
		cases[n].change = kinds[n%len(kinds)]
		cases[n].apply(&cases[n], random)
	}
	without := isWithoutEd25519(t)
	verifiers := drivers()
	verifiers["LibraryInGo"] = func(testing.TB) Driver { return goLibrary{} }
	verifiers["LibraryInTypeScript"] = typeScriptLibrary
	for name, start := range verifiers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			driver := start(t)
			for n, c := range cases {
				wanted := c.accepted
				if strings.HasPrefix(name, "Library") {
					wanted = c.byLibraries
				} else if name == "Python" && without && c.ed25519 {
					wanted = false
				}
				got, err := driver.Do(t.Context(), Call{
					ID: strconv.Itoa(n), Op: "verify", Args: Command{Webhook: &c.WebhookRequest},
					BaseURL: "http://unused.example", Token: "unused", Options: DefaultOptions(),
				})
				if err != nil || got.OK != wanted {
					t.Fatalf("%s: accepted = %t %q, want %t; %v; %+v", c.name, got.OK, got.Text, wanted, err, c)
				}
				if wanted && !slices.Equal(got.Items, []string{string(api.EventTypeRunCompleted)}) {
					t.Errorf("%s: types = %q, want that of the event", c.name, got.Items)
				}
			}
		})
	}
}

// signedCase is a request with what it was signed by.
type signedCase struct {
	change
	WebhookRequest

	event string
	at    time.Time
	// secret signs, and other does not.
	secret, other []byte
}

func newSignedCase(tb testing.TB, random *rand.Rand, n int) signedCase {
	tb.Helper()
	// From each of these a letter: of one byte to four, and those that JSON and HTML escape.
	letters := []rune("az09 \"\\/<&\x00\x7f\n\u00fc\u20ac\u2028\ufeff\ufffd\U0001f6a2")
	text := make([]rune, random.IntN(400))
	for i := range text {
		text[i] = letters[random.IntN(len(letters))]
	}
	c := signedCase{event: "event-" + strconv.Itoa(n), secret: make([]byte, 32), other: make([]byte, 32)}
	for i := range c.secret {
		c.secret[i], c.other[i] = byte(random.Uint32()), byte(random.Uint32())
	}
	body, err := json.Marshal(api.Event{
		ID: c.event, Type: api.EventTypeRunCompleted, Data: map[string]any{"x": string(text)},
	})
	if err != nil {
		tb.Fatal(err)
	}
	// The libraries know no other time than now.
	now := time.Now()
	c.at, c.Body, c.Now = now.Add(time.Duration(random.IntN(400)-200)*time.Second), string(body), now.Unix()
	c.Secrets = []string{"whsec_" + base64.StdEncoding.EncodeToString(c.secret)}
	c.sign(api.SignatureSchemeV1, c.secret)
	return c
}

// sign signs as the service does.
func (c *signedCase) sign(scheme api.SignatureScheme, secrets ...[]byte) {
	header := make(http.Header)
	core.SignWebhook(header, scheme, c.event, c.at, []byte(c.Body), secrets...)
	c.Headers = make(map[string]string)
	for name := range header {
		c.Headers[name] = header.Get(name)
	}
}

// signPublicly signs with Ed25519.
func (c *signedCase) signPublicly() {
	c.sign(api.SignatureSchemeV1a, c.secret)
	public, _ := ed25519.NewKeyFromSeed(c.secret).Public().(ed25519.PublicKey)
	c.Secrets = []string{"whpk_" + base64.StdEncoding.EncodeToString(public)}
}

// flip changes a bit of a letter, but not of the last ones, which may have bits that base64 does not use.
func flip(text string, random *rand.Rand, from int) string {
	changed := []byte(text)
	changed[from+random.IntN(len(changed)-from-2)] ^= 1
	return string(changed)
}

// change is what happens to a request on its way, and who accepts it then.
type change struct {
	name                           string
	accepted, byLibraries, ed25519 bool
	apply                          func(c *signedCase, random *rand.Rand)
}

func changes() []change {
	const id, at, signature = "Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"
	tamper := func(name string, from int) func(*signedCase, *rand.Rand) {
		return func(c *signedCase, random *rand.Rand) { c.Headers[name] = flip(c.Headers[name], random, from) }
	}
	drop := func(name string) func(*signedCase, *rand.Rand) {
		return func(c *signedCase, _ *rand.Rand) { delete(c.Headers, name) }
	}
	tamperBody := func(c *signedCase, random *rand.Rand) { c.Body = flip(c.Body, random, 0) }
	age := func(sign int) func(*signedCase, *rand.Rand) {
		return func(c *signedCase, random *rand.Rand) {
			// A test that takes long must not make it young.
			c.at = time.Unix(c.Now, 0).Add(time.Duration(sign*(900+random.IntN(900))) * time.Second)
			c.sign(api.SignatureSchemeV1, c.secret)
		}
	}
	return []change{
		{"nothing", true, true, false, func(*signedCase, *rand.Rand) {}},
		{"both secrets sign", true, true, false, func(c *signedCase, _ *rand.Rand) {
			c.sign(api.SignatureSchemeV1, c.other, c.secret)
		}},
		{"a signature is beside others", true, true, false, func(c *signedCase, _ *rand.Rand) {
			c.Headers[signature] = "v2,AAAA v1,!!! v1a,AAAA " + c.Headers[signature]
		}},
		{"body", false, false, false, tamperBody},
		{"id", false, false, false, tamper(id, 0)},
		{"time", false, false, false, tamper(at, 7)},
		{"signature", false, false, false, tamper(signature, len("v1,"))},
		{"secret", false, false, false, func(c *signedCase, _ *rand.Rand) { c.sign(api.SignatureSchemeV1, c.other) }},
		{"too old", false, false, false, age(-1)},
		{"too new", false, false, false, age(1)},
		{"no id", false, false, false, drop(id)},
		{"no time", false, false, false, drop(at)},
		{"no signature", false, false, false, drop(signature)},
		// The libraries sign the number that they have read, and not the header.
		{"the time is written in another way", false, true, false, func(c *signedCase, random *rand.Rand) {
			c.Headers[at] = []string{"0", "+"}[random.IntN(2)] + c.Headers[at]
		}},
		// The libraries know v1 alone.
		{"Ed25519 signs", true, false, true, func(c *signedCase, _ *rand.Rand) { c.signPublicly() }},
		{"body under Ed25519", false, false, true, func(c *signedCase, random *rand.Rand) {
			c.signPublicly()
			tamperBody(c, random)
		}},
	}
}

// goLibrary is a driver that verifies with the library of Standard Webhooks.
type goLibrary struct{}

func (goLibrary) Close() error { return nil }

func (goLibrary) Do(_ context.Context, call Call) (Outcome, error) {
	outcome, request := Outcome{ID: call.ID}, call.Args.Webhook
	header := make(http.Header)
	for name, value := range request.Headers {
		header.Set(name, value)
	}
	verifier, err := standardwebhooks.NewWebhook(request.Secrets[0])
	if err == nil {
		err = verifier.Verify([]byte(request.Body), header)
	}
	var event api.Event
	if err == nil {
		err = json.Unmarshal([]byte(request.Body), &event)
	}
	outcome.OK, outcome.Items = err == nil, []string{string(event.Type)}
	if err != nil {
		outcome.Text = err.Error()
	}
	return outcome, nil
}

// typeScriptLibrary is the same in JavaScript.
func typeScriptLibrary(tb testing.TB) Driver { //nolint:ireturn // callers hold drivers of several kinds
	tb.Helper()
	folder, err := coretest.InstallNPM(tb.Context(), os.DirFS("testdata/standardwebhooks"), "standardwebhooks")
	if err != nil {
		tb.Fatal(err)
	}
	return programDriver(tb, string(folder), folder.Node(), "judge.mjs")
}
