package step

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// head and foot are what stands around the instances of a file.
const (
	head = "ISO-10303-21;\nHEADER;FILE_SCHEMA(('IFC4'));ENDSEC;\nDATA;\n"
	foot = "ENDSEC;\nEND-ISO-10303-21;\n"
)

// readAll keeps the instances whose keyword begins with A, by their length as class.
func readAll(tb testing.TB, text string) (*File, *Fault) {
	tb.Helper()
	return readWithin(tb, text, 256<<20)
}

func readWithin(tb testing.TB, text string, maxHeld int64) (*File, *Fault) {
	tb.Helper()
	begin := func(Header) (Chooser, *Fault) {
		return func(keyword []byte) (uint16, bool) {
			return uint16(len(keyword)), bytes.HasPrefix(keyword, []byte("A"))
		}, nil
	}
	file, fault, err := Read(strings.NewReader(text), int64(len(text)), maxHeld, begin)
	if err != nil {
		tb.Fatalf("read: %v", err)
	}
	return file, fault
}

func TestInstances(t *testing.T) {
	t.Parallel()
	file, fault := readAll(t, head+"#2 = abc ( 'it''s (;)' , /* a ) ; comment */ .T., (#1,\n#2) ) "+
		";#7=B(1,'x',(2,$));\n"+
		"/* é */ #3=A(IFCLABEL( 'x' ),$,*,-1.5E-3,\"0FF\",());\n"+foot)
	if fault != nil {
		t.Fatal(fault)
	}
	type kept struct {
		ID           uint64
		Class        uint16
		Line, Column int
		Values       string
	}
	var got []kept
	for i := range file.Len() {
		in := file.At(i)
		got = append(got, kept{in.ID, in.Class, in.Place().Line, in.Place().Column, string(file.Parameters(in))})
	}
	want := []kept{
		{2, 3, 4, 1, "('it''s (;)',.T.,(#1,#2))"},
		{3, 1, 6, 9, `(IFCLABEL('x'),$,*,-1.5E-3,"0FF",())`},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	if at, ok := file.Find(3); !ok || at != 1 {
		t.Errorf("Find(3) = %d, %t", at, ok)
	}
	for id, want := range map[uint64][2]bool{2: {true, true}, 7: {false, true}, 4: {false, false}, 1: {false, false}} {
		_, kept := file.Find(id)
		if got := [2]bool{kept, file.Has(id)}; got != want {
			t.Errorf("#%d is kept and there = %v, want %v", id, got, want)
		}
	}
}

// TestEscapedQuotes reads texts whose escape falls on the end of a window at each of its bytes.
func TestEscapedQuotes(t *testing.T) {
	t.Parallel()
	for short := range 10 {
		filler := strings.Repeat("x", windowSize-len(head)-len("#1=A('")-short)
		file, fault := readAll(t, head+"#1=A('"+filler+`\S\C\S\'o',7);`+"#2=B('\\S\\'');#3=A(8);"+foot)
		if fault != nil {
			t.Fatalf("%d bytes before the end of a window: %v", short, fault)
		}
		if got := string(file.Parameters(file.At(0)).Element(1)); got != "7" || file.Len() != 2 {
			t.Errorf("%d bytes before the end of a window: %d instances, %s behind the text", short, file.Len(), got)
		}
	}
}

func TestOrderOfInstances(t *testing.T) {
	t.Parallel()
	file, fault := readAll(t, head+"#30=A(3);#10=A(1);#11=A(2);#20=A(4);"+foot)
	if fault != nil {
		t.Fatal(fault)
	}
	for id, want := range map[uint64]string{10: "(1)", 11: "(2)", 20: "(4)", 30: "(3)"} {
		at, ok := file.Find(id)
		if !ok || string(file.Parameters(file.At(at))) != want {
			t.Errorf("#%d = %d, %t", id, at, ok)
		}
	}
	if _, ok := file.Find(12); ok || file.Has(12) || file.Has(31) {
		t.Error("an instance is found that is not there")
	}
}

func TestManyInstances(t *testing.T) {
	t.Parallel()
	const count = 3*blockInstances + 5
	var text strings.Builder
	text.WriteString(head)
	for i := range count {
		fmt.Fprintf(&text, "#%d=A(%d,'%s');\n", 2*i+1, i, strings.Repeat("x", i%700))
	}
	file, fault := readAll(t, text.String()+foot)
	if fault != nil {
		t.Fatal(fault)
	}
	for i := range count {
		at, ok := file.Find(uint64(2*i + 1))
		in := file.At(at)
		if !ok || at != i || string(file.Parameters(in).Element(0)) != strconv.Itoa(i) || in.Place().Line != i+4 {
			t.Fatalf("#%d is at %d, %t, with %.40s in line %d", 2*i+1, at, ok, file.Parameters(in), in.Place().Line)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("(", 1_000_000)
	for name, tt := range map[string]struct{ text, want string }{
		"Empty": {
			"", "step.malformed 1:1 a STEP physical file begins with ISO-10303-21; (ISO 10303-21): the file ends",
		},
		"JSON": {
			`{"a":1}`, `step.malformed 1:1 a STEP physical file begins with ISO-10303-21; (ISO 10303-21): "{" is found`,
		},
		"NoHeader": {"ISO-10303-21;DATA;", `step.malformed 1:14 HEADER; is expected here: "DATA" is found`},
		"NoData": {
			strings.Replace(head, "DATA;", "", 1) + "END-ISO-10303-21;",
			"step.malformed 4:1 the file has no DATA section",
		},
		"Truncated": {
			head + "#1=A(1);\n",
			`step.malformed 5:1 an instance, as in #1=, or ENDSEC; is expected here: the file ends`,
		},
		"NoEnd": {
			head + "ENDSEC;\n", `step.malformed 5:1 DATA; or END-ISO-10303-21; is expected here: the file ends`,
		},
		"OpenText":    {head + "#1=A('a);\n" + foot, "step.malformed 4:6 this text is never closed"},
		"OpenComment": {head + "/* a\n" + foot, "step.malformed 4:1 this comment is never closed"},
		"Slash":       {head + "#1=A(/);" + foot, `step.malformed 4:6 "/" begins a comment only before "*"`},
		"OpenList":    {head + "#1=A((1,2);\n" + foot, `step.malformed 4:11 a list is not closed: ";" is found`},
		"SkippedOpen": {head + "#1=B((1,2);\n" + foot, `step.malformed 4:11 a list is not closed: ";" is found`},
		"NoComma":     {head + "#1=A(1 2);\n" + foot, `step.malformed 4:8 "," or ")" is expected here: "2" is found`},
		"TwoCommas":   {head + "#1=A(1,,2);\n" + foot, `step.malformed 4:8 a value is missing: "," is found`},
		"LastComma":   {head + "#1=A(1,);\n" + foot, `step.malformed 4:8 a value is missing: ")" is found`},
		"FirstComma":  {head + "#1=A(,1);\n" + foot, `step.malformed 4:6 a value is missing: "," is found`},
		"NoSemicolon": {head + "#1=A(1)\n#2=A(1);" + foot, `step.malformed 5:1 ";" is expected here: "#" is found`},
		"TypeOnly": {
			head + "#1=A(IFCLABEL);" + foot, `step.malformed 4:14 "(" must follow the name of a type: ")" is found`,
		},
		"NoKeyword": {
			head + "#1=;" + foot, `step.malformed 4:4 the name of one class is expected here: ";" is found`,
		},
		"TwoClasses": {
			head + "#1=(A()B());" + foot, `step.malformed 4:4 the name of one class is expected here: "(" is found`,
		},
		"NoNumber": {head + "#x=A();" + foot, `step.malformed 4:1 "#x" is not a name of an instance, as #12 is`},
		"HugeNumber": {
			head + "#99999999999999999999=A();" + foot,
			`step.malformed 4:1 "#99999999999999999999" is not a name of an instance, as #12 is`,
		},
		"WrongReference": {head + "#1=A(#);" + foot, `step.malformed 4:6 "#" is not a value`},
		"WrongEnum":      {head + "#1=A(.T);" + foot, `step.malformed 4:6 ".T" is not a value`},
		"NUL": {
			head + "#1=A(\x00);" + foot, "step.malformed 4:6 a value is expected here: \"\ufffd\" is found",
		},
		"LongWord": {
			head + "#1=A(" + strings.Repeat("9", 1000) + ");" + foot,
			"step.malformed 4:6 a word has more than 255 characters",
		},
		"Duplicate": {
			head + "#1=A();\n#2=A();\n#1=B();" + foot, "step.duplicate 6:1 a second instance has the name #1",
		},
		"DuplicateAway": {
			head + "#5=B();\n#4=B();\n#3=B();\n#4=B();" + foot, "step.duplicate 7:1 a second instance has the name #4",
		},
		"Deep":        {head + "#1=A(" + deep, "step.depth 4:205 nested deeper than 200 levels"},
		"SkippedDeep": {head + "#1=B(" + deep, "step.depth 4:205 nested deeper than 200 levels"},
		"Characters": {
			head + "/* ééé */ #1=A(ß);" + foot, `step.malformed 4:16 a value is expected here: "ß" is found`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, fault := readAll(t, tt.text)
			if fault == nil {
				t.Fatal("no fault")
			}
			got := fmt.Sprintf("%s %d:%d %s", fault.Code, fault.At.Line, fault.At.Column, fault.Message)
			if got != tt.want {
				t.Errorf("fault = %s\nwant    %s", got, tt.want)
			}
		})
	}
}

func numbered(instance string, count, apart int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, instance, i*apart)
	}
	return b.String()
}

func TestMemoryOfAFile(t *testing.T) {
	t.Parallel()
	const most = 1 << 20
	for name, text := range map[string]string{
		"OneText":   "#1=A('" + strings.Repeat("x", 2<<20) + "');",
		"Instances": numbered("#%d=A();", 1<<16, 1),
		"Numbers":   numbered("#%d=B();", 1<<14, 1000),
	} {
		if _, fault := readWithin(t, head+text+foot, most); fault == nil || fault.Code != "step.too_large" {
			t.Errorf("fault of %s = %+v", name, fault)
		}
	}
	if file, fault := readWithin(t, head+"#1=B('"+strings.Repeat("x", 2<<20)+"');"+foot, most); fault != nil {
		t.Errorf("a text that is not kept has the fault %+v", fault)
	} else if held := file.Held(); held > 1<<10 {
		t.Errorf("held = %d, want nearly nothing", held)
	}
}

var errBroken = errors.New("broken")

func TestSourcesThatFail(t *testing.T) {
	t.Parallel()
	begin := func(Header) (Chooser, *Fault) { return nil, nil }
	broken := io.MultiReader(strings.NewReader(strings.Repeat(" ", windowSize+5)), iotest.ErrReader(errBroken))
	if _, _, err := Read(broken, 2*windowSize, 1<<20, begin); !errors.Is(err, errBroken) {
		t.Errorf("error = %v, want that of the source", err)
	}
	if _, _, err := Read(strings.NewReader("short"), 10, 1<<20, begin); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error of a short source = %v", err)
	}
}
