package xpath_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simplevalidations/simplevalidations/validations/programs/schematron/xpath"
)

// enough is work for all expressions but hostile ones.
const enough = 1_000_000

const documentToCompare = `<r xmlns:n="urn:n" xml:lang="en-GB"><!--c--><a id="1"><v>10</v><v>20</v><t/></a>
<a id="2"><v>5</v><t> x  y </t><a id="3"><v>é&amp;<![CDATA[<]]>z</v><?p q?></a></a>
<b f="true" n:f="x"><c>1</c><d>1.50</d><n:e>z</n:e></b></r>`

// evaluate returns the value of an expression at the root element as a text: of a node set the number of nodes, and
// their texts. It leaves out the root, as lxml does.
func evaluate(tb testing.TB, text, expression string) string {
	tb.Helper()
	document, fault := xpath.Read([]byte(text))
	if fault != nil {
		tb.Fatalf("read: %+v", fault)
	}
	env := xpath.Env{Namespaces: map[string]string{
		"m": "urn:n", "xml": "http://www.w3.org/XML/1998/namespace",
	}}
	compile := func(source string) *xpath.Expr {
		x, mistake := xpath.Compile(source, env)
		if mistake != nil {
			tb.Fatalf("compile %s: %v", source, mistake)
		}
		return x
	}
	work := xpath.NewWork(enough)
	scope := xpath.NewScope(document, work)
	x := compile(expression)
	at := scope.Nodes(compile("/*"))[0]
	defer func() {
		if err := work.Err(); err != nil {
			tb.Fatalf("evaluate %s: %v", expression, err)
		}
	}()
	if x.Type() != xpath.NodeSet {
		return scope.Text(x, at)
	}
	nodes := slices.DeleteFunc(scope.Evaluate(x, at).Nodes(), func(n *xpath.Node) bool { return n.Kind == xpath.Root })
	texts := make([]string, 0, len(nodes))
	self := compile("string(.)")
	for _, n := range nodes {
		texts = append(texts, scope.Text(self, n))
	}
	return strconv.Itoa(len(nodes)) + ":" + strings.Join(texts, "|")
}

// expressionsToCompare are one in each line.
const expressionsToCompare = `
count(//a[v > 8])
//a/v[last()]
string(//a[2]/v)
(//v)[2]
string((//v)[2])
count(//v[position() = 1])
//v != 10
not(//zzz)
not('')
not(0)
boolean('false')
//b/@f = true()
//zzz = false()
//v = '10'
//c = //d
string(1 div 0)
string(1.0)
string(100000000)
round(2.5)
round(-2.5)
string(round(1.4))
number('abc') = number('abc')
concat(1, true(), //c)
concat('a', 1 = 1)
string-length()
string-length(normalize-space(//a[2]/t))
substring('12345', 1.5, 2.6)
substring('12345', 0 div 0)
substring('12345', 2)
count(//a/preceding-sibling::*)
string(//b/preceding-sibling::*[1]/@id)
string(//c/ancestor::*[1]/@f)
string(//c/following::*[1])
count(//a | //v)
sum(//v)
sum(//zzz)
count(//a[not(t)])
count(//a[count(v) = 2])
count(//a[v[2]])
//a[1]/v[1] < //a[1]/v[2]
'10' < 9
true() = 'x'
1 = true()
5 mod 3
-5 mod 3
5.5 mod 2
count(//@*)
count(//node())
name(//*[last()])
local-name(//b/*[3])
count(//*[@id = 1 or @id = 2])
translate('abc','abc','xy')
string(//v + 1)
//v + 1 = 11
- //v = -10
(1 < 2) = true()
count(/r/a/v[1])
count(/descendant::v[1])
count(//a/descendant::v[2])
floor('x') 
number(' 5 ')
number('1e3')
'' = //zzz
substring-before('a-b','-')
contains('', '')
count(//a[position() != last()])
//a[@id='2']/v = 5 and //a/t = ' x  y '
count(//t[. = ''])
count(//*[self::a or self::b])
number(true())
count(//text())
lang('en')
count(//a[2]/ancestor-or-self::node())
2 * 3 + 4 - 1
count(//v[. > //d])
count((//a)[last()]/v)
count(//a[1]/following-sibling::*[1][self::a])
ceiling(1.2) = 2
string(-0)
//a/@id = //c
'10' = //v
'abc' = //@id
5 < //v
//v < 5
//v >= //d
//v != //v
//c != //c
//@id = '2'
'2' != //@id
true() != //zzz
not(//v = 'q')
contains('a1b', //@id)
starts-with(//v, 1)
contains(12, 2)
//b/@*
//b/@m:f
//m:e
//m:*
count(//*[namespace-uri() = 'urn:n'])
name(//m:e)
lang('en')
count(//*[lang('EN-gb')])
boolean(lang('de'))
//a[@id > 1]/v[1]
//a[v][t]/@id
(//a)[last()]/@id
//a[last()]/@id
//*[position() = 2]
//a/..
//a//v
//a//v[1]
/descendant::v[2]
//v | //t | //a/@id
(//v | //t)[3]
//v[../@id = 2]
//a[.//v = 5]/@id
sum(//v[. < 100])
sum(//a/@id) div count(//a)
-(-3)
- - 3
1 - 1
2*3
4 div 2 mod 2
//v * 2
//*/*
*
* * *
string-length('é')
substring('héllo', 2, 3)
substring('12345', -42, 1 div 0)
substring('12345', -1 div 0, 1 div 0)
substring-after('abc', '')
substring-before('abc', 'z')
normalize-space()
normalize-space('  a  b ')
translate('aabbcc', 'abc', 'AB')
translate('abca', 'aa', 'xy')
round(-0.4)
round(0.5)
floor(-1.5)
ceiling(-1.5)
number('-')
number('- 1')
number('-1')
number('.5')
number('5.')
number('')
number('+1')
number(//t)
1 div 3
0 div 0 = 0 div 0
'a' < 'b'
1 = '1'
true() > false()
//zzz < true()
//v[. = 10] and not(//v[. = 11])
//comment()
//processing-instruction()
//processing-instruction('p')
//processing-instruction('x')
//a[@id = 3]/preceding::v
//a[@id = 3]/preceding::v[1]
//a[@id = 1]/following::v[1]
//v/ancestor::a[1]/@id
//v[ancestor::a/@id = 3]
.
/
//text()[normalize-space()]
//a[not(@id = preceding::a/@id)]/@id
//a[count(ancestor-or-self::a) = 2]/@id
count(//a[position() mod 2 = 1])
//a[v[2] > v[1]]/@id
//*[local-name() = 'e']
concat(//a[2]/@id, '-', string(//c), true(), 1.5)
string(//@id)
.//v
./r/a
../r
//r/a[2]/a/@id
`
