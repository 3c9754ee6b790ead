package validations

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// ShowV1 is Show for the existing client.
func (s *Service) ShowV1(ctx context.Context, orgID uuid.UUID, orgSlug string, id uuid.UUID) (RunBody, error) {
	body, err := s.Show(ctx, orgID, orgSlug, id)
	return body.ForExistingClient(), err
}

// ForExistingClient returns the run as the /api/v1/ routes show it. Their client prints only path and message of a
// finding, so the path names the rows of a table as well.
func (b RunBody) ForExistingClient() RunBody {
	b.Steps = slices.Clone(b.Steps)
	for i := range b.Steps {
		issues := slices.Clone(b.Steps[i].Issues)
		for j := range issues {
			issues[j].Path = issues[j].pathWithRows()
		}
		b.Steps[i].Issues = issues
	}
	return b
}

// pathWithRows puts the rows before the column: "row 5, kwh". Outside of tables it is the path.
func (b IssueBody) pathWithRows() string {
	place := b.rowWords()
	if place == "" || b.Path == "" {
		return place + b.Path
	}
	return place + ", " + b.Path
}

func (b IssueBody) rowWords() string {
	switch {
	case len(b.SampleRows) == 0 && b.Row == 0:
		return ""
	case len(b.SampleRows) == 0:
		return "row " + strconv.Itoa(b.Row)
	}
	names := make([]string, len(b.SampleRows))
	for i, row := range b.SampleRows {
		names[i] = strconv.Itoa(row)
	}
	words := "rows " + strings.Join(names, ", ")
	if len(names) == 1 {
		words = "row " + names[0]
	}
	if b.Truncated {
		words += " and more"
	}
	return words
}
