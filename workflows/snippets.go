package workflows

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/core"
	"github.com/simplevalidations/simplevalidations/core/idempotency"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

// snippet is a way to start a run from elsewhere, ready to be copied.
type snippet struct {
	Title, Hint, Text string
}

// example is the name and the type of a document that a workflow accepts.
type example struct {
	filename, mediaType string
}

// exampleOf returns an example of a document that the workflow accepts.
func exampleOf(accepts []string) example {
	for _, candidate := range []example{
		{"data.csv", mediatype.CSV},
		{"document.json", mediatype.JSON},
		{"document.yaml", mediatype.YAML},
		{"document.xml", mediatype.XML},
		{"table.tsv", mediatype.TSV},
		{"model.txt", mediatype.Text},
	} {
		if slices.Contains(accepts, candidate.mediaType) {
			return candidate
		}
	}
	if len(accepts) == 0 {
		return example{"document", mediatype.Binary}
	}
	return example{"document", accepts[0]}
}

// snippetsOf are the ways to run a workflow from elsewhere. Each has a key of its own, so a copy that
// is sent twice starts one run.
func snippetsOf(version Version, address string) []snippet {
	file := exampleOf(version.Definition.Accepts)
	fill := func(text string) string {
		return strings.NewReplacer("ADDRESS", address, "SLUG", version.Slug, "KEY", idempotency.NewFormKey(),
			"FILE", file.filename, "TYPE", file.mediaType).Replace(text)
	}
	return []snippet{
		{
			"curl", "TOKEN is an API token. If you repeat the command, you get the same run.",
			fill(curlSnippet),
		},
		{"Command line", "Waits for the findings. SV_TOKEN is an API token.", fill(commandSnippet)},
		{"Go", "The client is a package of this module.", fill(goSnippet)},
		{
			"GitHub Actions", "The key is made of the job and the document, so a repeated step finds its run.",
			fill(actionsSnippet),
		},
	}
}

// firstWorkflows bounds the search for a workflow that can be run.
const firstWorkflows = 20

// FirstStart is a command that starts a run of one of the organization's workflows at the service with the address,
// with a key of its own. It is "" where none of the newest workflows can be run.
func (s *Service) FirstStart(ctx context.Context, orgID uuid.UUID, address string) (string, error) {
	versions, err := s.list(ctx, orgID, core.Cursor{Size: firstWorkflows})
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(versions, func(v Version) bool { return v.IsActive && len(v.Definition.Steps) > 0 })
	if i < 0 {
		return "", nil
	}
	return snippetsOf(versions[i], address)[0].Text, nil
}

const curlSnippet = `curl -i ADDRESS/api/workflows/SLUG/start/ \
  -H "Authorization: Bearer $TOKEN" \
  -H "Idempotency-Key: KEY" \
  -H "Content-Type: TYPE" -H "X-Filename: FILE" \
  --data-binary @FILE`

const commandSnippet = `export SV_URL=ADDRESS
simplevalidations run FILE --workflow SLUG --key KEY`

const goSnippet = `c, err := client.New("ADDRESS", client.WithToken(os.Getenv("SV_TOKEN")))
if err != nil {
	return err
}
started, err := c.Start(ctx, client.StartRequest{
	Workflow: "SLUG", Key: "KEY",
	Content: file, Filename: "FILE", MediaType: "TYPE",
})`

const actionsSnippet = `- run: simplevalidations run FILE --workflow SLUG
  env:
    SV_URL: ADDRESS
    SV_TOKEN: ${{ secrets.SV_TOKEN }}`
