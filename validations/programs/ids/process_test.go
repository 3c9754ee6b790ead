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
	config := text(t, "schemas/house.ids-step.json")
	model := text(t, "bad/house.ifc")
	code, answer := process.Answer(t, port.TaskCheck, config, model)
	if code != port.ExitAnswered || len(answer) != 8 || answer[7].Counts == nil || answer[7].Counts.Errors != 7 {
		t.Errorf("answer to a bad model = %d, %+v", code, answer)
	} else if first := answer[0].Finding; first.Code != "ids.attribute" || first.Line != 22 ||
		!strings.HasPrefix(model[*first.Offset:], "#21=IFCWALL(") {
		t.Errorf("first finding = %+v", first)
	}
	code, answer = process.Answer(t, port.TaskCheck, config, text(t, "good/house.ifc"))
	if code != port.ExitAnswered || len(answer) != 1 || *answer[0].Counts != (port.Counts{}) {
		t.Errorf("answer to a good model = %d, %+v", code, answer)
	}
	code, answer = process.Answer(t, port.TaskConfigure, config, "")
	if code != port.ExitAnswered || len(answer) < 2 || answer[0].Promise == nil {
		t.Errorf("answer to a configuration = %d, %+v", code, answer)
	}
	code, answer = process.Answer(t, port.TaskConfigure, `{"ids": "<a/>"}`, "")
	if code != port.ExitAnswered || len(answer) != 1 || answer[0].Fault.Line != 1 {
		t.Errorf("answer to a fault = %d, %+v", code, answer)
	}
	code, answer = process.Answer(t, port.TaskCheck, `{}`, model)
	if code == port.ExitAnswered || len(answer) != 0 {
		t.Errorf("answer to a configuration that is wrong = %d, %+v", code, answer)
	}
}
