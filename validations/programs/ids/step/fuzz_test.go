package step

import (
	"strings"
	"testing"
)

// FuzzRead reads whatever comes: it never panics, places faults inside of the text, and what it keeps can be read again
// to the same.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		head + "#1=A('a',(1,#2));#2=B();" + foot, head + "#1=A(/*)*/$);" + foot, head, "ISO-10303-21;", "#1=A(",
		head + "#1=A(T('\\X2\\00E4\\X0\\'),\"0\",.U.);#1=A();" + foot, "\ufeff" + head + foot,
		head + "#3=A();#2=A();" + foot,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, fault := readWithin(t, text, 1<<16)
		if fault != nil {
			if fault.At.Offset < 0 || fault.At.Offset > int64(len(text)) || fault.Message == "" || fault.At.Line < 1 ||
				fault.At.Column < 1 {
				t.Errorf("fault %+v lies outside of %q", fault, text)
			}
			return
		}
		for i := range file.Len() {
			parameters := string(file.Parameters(file.At(i)))
			again, fault := readWithin(t, head+"#1=A"+parameters+";"+foot, 1<<16)
			if fault != nil || string(again.Parameters(again.At(0))) != parameters {
				t.Fatalf("%q of %q is read again with %+v", parameters, text, fault)
			}
			var elements []string
			for v := range file.Parameters(file.At(i)).Elements() {
				_ = v.Text()
				_, inside := v.Typed()
				_ = inside.Text()
				elements = append(elements, string(v))
			}
			if joined := "(" + strings.Join(elements, ",") + ")"; joined != parameters {
				t.Errorf("values of %q are joined to %q", parameters, joined)
			}
			if _, ok := file.Find(file.At(i).ID); !ok || !file.Has(file.At(i).ID) {
				t.Errorf("#%d of %q is not found", file.At(i).ID, text)
			}
		}
	})
}
