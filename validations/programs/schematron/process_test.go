package main_test

import (
	"os"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/port"
	"github.com/simplevalidations/simplevalidations/validations/programs/port/process"
)

func TestMain(m *testing.M) {
	os.Exit(process.Main(m))
}

func TestProcess(t *testing.T) {
	t.Parallel()
	config := text(t, "schemas/meters.schematron-step.json")
	code, answer := process.Answer(t, port.TaskCheck, config, text(t, "bad/meters.xml"))
	if code != port.ExitAnswered || len(answer) != 9 || answer[8].Counts == nil || answer[8].Counts.Errors != 7 {
		t.Errorf("answer to a bad document = %d, %+v", code, answer)
	} else if first := answer[0].Finding; first.Code != "schematron.site" || first.Line != 2 ||
		!strings.HasPrefix(first.Excerpt, "<meters") {
		t.Errorf("first finding = %+v", first)
	}
	code, answer = process.Answer(t, port.TaskConfigure, config, "")
	if code != port.ExitAnswered || len(answer) < 2 || answer[0].Promise == nil {
		t.Errorf("answer to a configuration = %d, %+v", code, answer)
	}
	code, answer = process.Answer(t, port.TaskConfigure, `{"shema": ""}`, "")
	if code != port.ExitAnswered || len(answer) != 1 || answer[0].Fault.Meant != "schema" {
		t.Errorf("answer to a slip = %d, %+v", code, answer)
	}
	config = step(t, schemaOf(`<pattern><rule context="/*"><assert test="concat(/*`+
		strings.Repeat(", /*", 16)+`) != ''"/></rule></pattern>`), "")
	code, answer = process.Answer(t, port.TaskCheck, config, "<a>"+strings.Repeat("a", 1<<20)+"</a>")
	if code != port.ExitExhausted || len(answer) != 0 {
		t.Errorf("answer where a resource is used up = %d, %+v", code, answer)
	}
}
