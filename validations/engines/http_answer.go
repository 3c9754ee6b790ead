package engines

import (
	"errors"
	"fmt"
	"math"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/simplevalidations/simplevalidations/validations/engines/engine"
)

// MaxAnswerBytes is the size of the answer of an external validator.
const MaxAnswerBytes = 1 << 20

const (
	foreignPrefix     = "external."
	codeForeignFailed = foreignPrefix + "failed"
	maxForeignCode    = 100
	maxForeignMessage = 1000
)

// The results that an external validator can come to.
const (
	foreignPass = "PASS"
	foreignFail = "FAIL"
)

// foreignAnswer is the answer of an external validator. Unknown members are ignored.
type foreignAnswer struct {
	Result    string          `json:"result"`
	Findings  foreignFindings `json:"findings"`
	Truncated bool            `json:"truncated"`
}

type foreignFinding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	Message  string   `json:"message"`
	Path     string   `json:"path"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Row      int      `json:"row"`
	Excerpt  string   `json:"excerpt"`
	Count    int      `json:"count"`
}

// foreignFindings is checked while it is read, so that a list of nothing ends at its first member.
type foreignFindings []foreignFinding

// UnmarshalJSONFrom reads the list.
func (f *foreignFindings) UnmarshalJSONFrom(decoder *jsontext.Decoder) error {
	if decoder.PeekKind() != '[' {
		return errors.New("findings must be a list")
	}
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	for decoder.PeekKind() != ']' {
		var finding foreignFinding
		if err := jsonv2.UnmarshalDecode(decoder, &finding); err != nil {
			return err
		}
		if detail := finding.fault(); detail != "" {
			return fmt.Errorf("findings/%d %s", len(*f), detail)
		}
		*f = append(*f, finding)
	}
	_, err := decoder.ReadToken()
	return err
}

func (f foreignFinding) fault() string {
	if !f.Severity.Known() {
		return "needs a severity of ERROR, WARNING or INFO"
	}
	if !isForeignCode(f.Code) {
		return fmt.Sprintf("needs a code of 1 to %d letters, digits and ._-", maxForeignCode)
	}
	if strings.TrimSpace(f.Message) == "" {
		return "needs a message"
	}
	for _, number := range []int{f.Line, f.Column, f.Row, f.Count} {
		if number < 0 || number > math.MaxInt32 {
			return "has a number that is negative or too large"
		}
	}
	return ""
}

func isForeignCode(code string) bool {
	return code != "" && len(code) <= maxForeignCode &&
		strings.Trim(code, nameChars+".") == ""
}

// Read turns the answer of the service into a report. An error means that the answer is invalid: it says what is wrong
// with it, in words for the author of the workflow.
func (h *HTTP) Read(body []byte) (Report, error) {
	if len(body) > MaxAnswerBytes {
		return Report{}, fmt.Errorf("it is larger than %d bytes", MaxAnswerBytes)
	}
	var answer foreignAnswer
	if err := jsonv2.Unmarshal(body, &answer); err != nil {
		return Report{}, answerFault(err)
	}
	wrong := 0
	c := engine.NewCollector(h.limits)
	for _, finding := range answer.Findings {
		if finding.Severity == SeverityError {
			wrong++
		}
		c.Add("", h.translate(finding))
	}
	switch {
	case answer.Result != foreignPass && answer.Result != foreignFail:
		return Report{}, fmt.Errorf("result must be %s or %s", foreignPass, foreignFail)
	case answer.Result == foreignPass && wrong > 0:
		return Report{}, fmt.Errorf("result is %s although there are findings of severity ERROR", foreignPass)
	case answer.Result == foreignFail && wrong == 0:
		c.Add("", Finding{
			Severity: SeverityError, Code: codeForeignFailed,
			Message: "The validator refuses the document without saying why",
		})
	}
	report := c.Finish()
	report.Truncated = report.Truncated || answer.Truncated
	return report, nil
}

func (h *HTTP) translate(f foreignFinding) Finding {
	severity, changed := h.severities[f.Code]
	if !changed {
		severity = f.Severity
	}
	return Finding{
		Severity: severity, Code: foreignPrefix + f.Code, Message: engine.ClipTo(f.Message, maxForeignMessage),
		Path: engine.ClipTo(f.Path, maxForeignMessage), Line: f.Line, Column: f.Column, Row: f.Row,
		Excerpt: engine.ClipTo(f.Excerpt, h.limits.MaxExcerpt), Count: f.Count,
	}
}

// answerFault keeps the place and leaves out what the answer says there.
func answerFault(err error) error {
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		if semantic.JSONKind == jsontext.KindInvalid && semantic.Err != nil {
			return semantic.Err
		}
		return fmt.Errorf("%s has the wrong type", place(semantic.JSONPointer))
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Errorf("%s is not well-formed JSON", place(syntactic.JSONPointer))
	}
	return errors.New("it is not well-formed JSON")
}

func place(pointer jsontext.Pointer) string {
	if pointer == "" {
		return "it"
	}
	return engine.Clip(string(pointer))
}
