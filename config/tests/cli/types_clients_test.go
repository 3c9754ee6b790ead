package cli

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/simplevalidations/simplevalidations/config/tests/fixture"
	"github.com/simplevalidations/simplevalidations/core/api"
	"github.com/simplevalidations/simplevalidations/core/mediatype"
)

// pythonUpload sends a file as the body of a request, as people write it who have the standard library alone.
const pythonUpload = `
import os, sys, urllib.request
url, token, key, name = sys.argv[1:]
with open(name, "rb") as file:
    request = urllib.request.Request(url, data=file.read(), headers={
        "Authorization": "Bearer " + token, "Idempotency-Key": key, "X-Filename": os.path.basename(name)})
with urllib.request.urlopen(request) as answer:
    sys.stdout.write(answer.read().decode())
`

// fileOnDisk is a sample that clients send, and where they send it.
type fileOnDisk struct {
	name, path, start string
}

// filesOnDisk writes a sample of each kind, and adds a workflow that takes no other.
func filesOnDisk(tb testing.TB, s *stage) []fileOnDisk {
	tb.Helper()
	folder := tb.TempDir()
	var files []fileOnDisk
	for name, accepts := range map[string][]string{
		"good/building.json": {mediatype.JSON}, "good/meter-readings.csv": {mediatype.CSV},
		"good/meters.xml": {"text/xml"}, "good/office.idf": {mediatype.JSON, mediatype.Text},
		"good/office.epJSON": {mediatype.JSON, mediatype.Text}, "workflows/meter-readings.yaml": {mediatype.YAML},
	} {
		file := fileOnDisk{name: filepath.Base(name), path: filepath.Join(folder, filepath.Base(name))}
		if err := os.WriteFile(file.path, []byte(fixture.SampleText(tb, name)), 0o600); err != nil {
			tb.Fatal(err)
		}
		file.start = s.AddTyped(tb, strings.ToLower(strings.ReplaceAll(file.name, ".", "-")), accepts...)
		files = append(files, file)
	}
	return files
}

// wantAnswerOf runs a client that prints the answer to a start, and wants that to be a run.
func wantAnswerOf(tb testing.TB, name string, args ...string) string {
	tb.Helper()
	var complaint bytes.Buffer
	cmd := exec.CommandContext(tb.Context(), name, args...)
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		tb.Fatalf("%s: %v\n%s%s", name, err, output, complaint.Bytes())
	}
	if _, err := uuid.Parse(fixture.Decoded[api.Run](tb, answer{Body: output}).ID); err != nil {
		tb.Fatalf("%s printed %s, want a run: %v", name, output, err)
	}
	return string(output)
}

// TestStartTakesFilesOfRealClients has the clients that are everywhere send files as their manuals say. Those that send
// a document in the same form get the same run with the same key.
func TestStartTakesFilesOfRealClients(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	token := s.Harbour.Tokens.Executor
	authorization := "Authorization: Bearer " + token
	for _, file := range filesOnDisk(t, s) {
		t.Run(file.name, func(t *testing.T) {
			t.Parallel()
			url := "http://" + s.Address + file.start
			first := wantAnswerOf(t, "curl", "-sS", url, "-H", authorization, "-F", "file=@"+file.path,
				"-H", "Idempotency-Key: form "+file.name)
			if again := string(s.Must(t, http.StatusCreated, goUpload(t, s, file)).Body); again != first {
				t.Errorf("Go's form = %s, want the run of curl's: %s", again, first)
			}
			named := []string{
				"-H", authorization, "-H", "X-Filename: " + file.name, "-H", "Idempotency-Key: raw " + file.name, "-sS",
			}
			first = wantAnswerOf(t, "curl", append(named, url, "--data-binary", "@"+file.path)...)
			unslashed := strings.TrimSuffix(url, "/") // Otherwise curl adds the name of the file.
			for client, again := range map[string]string{
				"curl's upload": wantAnswerOf(t, "curl", append(named, "-X", "POST", unslashed, "-T", file.path)...),
				"Python": wantAnswerOf(t, "python3", "-c", pythonUpload, url, token, "raw "+file.name,
					file.path),
			} {
				if again != first {
					t.Errorf("%s = %s, want the run of curl's body: %s", client, again, first)
				}
			}
		})
	}
}

// TestRunCommandGoesOnWithTheStartOfAnotherClient repeats with the command what another client has sent without a type.
// What the workflow takes is not what the name says first, so a type that was chosen by it would be another request.
func TestRunCommandGoesOnWithTheStartOfAnotherClient(t *testing.T) {
	t.Parallel()
	s := fixture.Setup(t)
	s.AddTyped(t, "plain", mediatype.Text)
	d := setupDesk(t, "http://"+s.Address, s.Harbour.Tokens.Executor)
	file := fileOnDisk{name: "good.csv", path: d.path("good.csv"), start: "/api/workflows/plain/start/"}
	run := s.Started(t, goUpload(t, s, file))
	got := d.run(t.Context(), "run", "@good.csv", "-w", "plain", "--no-wait", "--key", "form good.csv")
	got.want(t, 0)
	if id := strings.TrimSpace(got.output); id != run.ID {
		t.Errorf("run = %s, want that of the other client: %s", id, run.ID)
	}
}

// goUpload is a file in a form as Go's standard library writes it.
func goUpload(tb testing.TB, s *stage, file fileOnDisk) call {
	tb.Helper()
	content, err := os.ReadFile(file.path)
	if err != nil {
		tb.Fatal(err)
	}
	var body strings.Builder
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", file.name)
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := part.Write(content); err != nil {
		tb.Fatal(err)
	}
	if err := form.Close(); err != nil {
		tb.Fatal(err)
	}
	return s.Start(tb, "form "+file.name).To(file.start).WithBody(form.FormDataContentType(), body.String())
}

// TestGuideListsTheTypes compares the tables of the guide with those that are used.
func TestGuideListsTheTypes(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "guides", "workflows.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(guide), "## Types of documents")
	anything := []string{}
	var endings []string
	for line := range strings.Lines(section) {
		cells := strings.Split(strings.ReplaceAll(strings.TrimSpace(line), "`", ""), " | ")
		if len(cells) != 2 || strings.Contains(line, "---") {
			continue
		}
		first := strings.Split(strings.TrimPrefix(cells[0], "| "), ", ")
		second := strings.Split(strings.TrimSuffix(cells[1], " |"), ", ")
		switch {
		case strings.HasPrefix(first[0], "."):
			for _, ending := range first {
				endings = append(endings, strings.ToLower(ending))
				if got := strings.Join(mediatype.OfName("a"+ending), ", "); got != strings.Join(second, ", ") {
					t.Errorf("types of %s = %s, want %s as in the guide", ending, got, second)
				}
			}
			anything = append(anything, second...)
		case strings.Contains(first[0], "/"):
			for _, name := range second {
				if got := mediatype.Canonical(name); got != first[0] {
					t.Errorf("Canonical(%q) = %q, want %q as in the guide", name, got, first[0])
				}
			}
		}
	}
	if got := strings.Join(mediatype.Endings(anything), ", "); got != strings.Join(endings, ", ") || got == "" {
		t.Errorf("endings = %s, want %s as in the guide", got, endings)
	}
}
