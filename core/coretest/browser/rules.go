package browser

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/simplevalidations/simplevalidations/core/coretest"
)

// rules is html-validate, as a process that judges one page after the other.
type rules struct {
	mutex   sync.Mutex
	process *exec.Cmd
	pages   io.WriteCloser
	answers *bufio.Reader
}

func startRules(ctx context.Context, folder coretest.Folder) (*rules, error) {
	cmd := exec.CommandContext(ctx, folder.Node(), "rules.js")
	cmd.Dir = folder.Path()
	pages, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to node: %w", err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("connect to node: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start node: %w", err)
	}
	return &rules{process: cmd, pages: pages, answers: bufio.NewReader(answers)}, nil
}

// mistakes lists what is wrong with the HTML of a page.
func (r *rules) mistakes(page string) ([]string, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if err := json.NewEncoder(r.pages).Encode(page); err != nil {
		return nil, fmt.Errorf("send a page to html-validate: %w", err)
	}
	line, err := r.answers.ReadBytes('\n')
	if err != nil {
		return nil, fmt.Errorf("read the answer of html-validate: %w", err)
	}
	var mistakes []string
	if err := json.Unmarshal(line, &mistakes); err != nil {
		return nil, fmt.Errorf("understand the answer of html-validate: %w", err)
	}
	return mistakes, nil
}

func (r *rules) close() {
	_ = r.pages.Close()  // It ends when it has read all pages.
	_ = r.process.Wait() // Nothing is lost with it.
}
