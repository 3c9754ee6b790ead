package clients

import (
	_ "embed"
	"encoding/json"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"
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
	without := exec.CommandContext(t.Context(), "python3", "-c", "import cryptography").Run() != nil
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
