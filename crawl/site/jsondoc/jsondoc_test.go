package jsondoc

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// texts returns what the values at a path say, those that are no scalars by their kind.
func texts(t *testing.T, body, path string) (out []string) {
	t.Helper()
	v, err := Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	p, err := Compile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := range p.In(v) {
		out = append(out, said(at.Kind(), at.Text()))
	}
	return out
}

func said(k Kind, text string) string {
	switch k {
	case String:
		return "s:" + text
	case Null, Array, Object:
		return [...]string{Null: "null", Array: "[]", Object: "{}"}[k]
	}
	return text
}

func TestPath(t *testing.T) {
	const stores = `{"data":{"stores":[{"id":1,"n":"A"},{"id":"2","n":"B","tags":["x","y"]},{"id":3.0,"tags":["z"]}],"total":1.10},
		"0":"zero","a.b":"dotted","@this":"at","!x":"bang","{a,b}":"brace","[c]":"bracket","|":"pipe","*":"star","\\":"slash","#":"hash",
		"a":1,"a":2,"twice":{"x":1},"twice":{"y":2},"caf\u00e9":"\u00e9\ud83d\ude00\ud800","big":12345678901234567890,"e":1E+2,"yes":true,"no":false,
		"nil":null,"01":"lead","":"empty","of":{"k.l":[{"p":{"q.r":"~v"}},{"p":{"q.r":"a\"b\\"},"w":"won"}]}}`
	for path, want := range map[string][]string{
		"data.total": {"1.10"}, "big": {"12345678901234567890"}, "e": {"1E+2"}, "yes": {"true"}, "no": {"false"}, "nil": {"null"}, "data": {"{}"},
		"data.stores": {"[]"}, "data.stores.0.id": {"1"}, "data.stores.1.id": {"s:2"}, "data.stores.9": nil, "data.stores.n": nil, "0": {"s:zero"},
		"data.stores.#": {"3"}, "data.stores.#.id": {"1", "s:2", "3.0"}, "data.stores.#.n": {"s:A", "s:B"}, "data.stores.#.tags.#": {"2", "1"},
		"data.stores.#.tags.0": {"s:x", "s:z"}, "data.#": nil, "data.stores.#.tags.#.x": nil, "data.total.x": nil, "yes.0": nil, "nil.x": nil,
		`data.stores.#(id=="1").n`: {"s:A"}, `data.stores.#(id==1).n`: {"s:A"}, `data.stores.#(id==2).n`: {"s:B"}, `data.stores.#(id=="3")`: nil,
		`data.stores.#(id=="3.0").tags.0`: {"s:z"}, `data.stores.#(tags.1=="y").n`: {"s:B"}, `data.#(id=="1")`: nil, `data.stores.#(n=="")`: nil,
		`a\.b`: {"s:dotted"}, "@this": {"s:at"}, "!x": {"s:bang"}, "{a,b}": {"s:brace"}, "[c]": {"s:bracket"}, `\|`: {"s:pipe"}, `\*`: {"s:star"}, `\\`: {"s:slash"},
		`\#`: {"s:hash"}, `\01`: {"s:lead"}, "café": {"s:é😀\ufffd"}, "a": {"1"}, "twice.x": {"1"}, "twice.y": nil, "@valid": nil, "data.@values": nil, "@this.data": nil,
		"data.{total}": nil, `of.k\.l.#(p.q\.r=="a\"b\\").w`: {"s:won"},
	} {
		if got := texts(t, stores, path); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
	if got := texts(t, "[[1,2],[3]]", "#.#"); !slices.Equal(got, []string{"2", "1"}) {
		t.Errorf("numbers of elements: %q", got)
	}
}

func TestRefusedPaths(t *testing.T) {
	for path, want := range map[string]string{
		"": "empty part", "a..b": "empty part", ".a": "empty part", "a.": "empty part", "a|b": "have no meaning here", "a*": "have no meaning here", "a.b?": "have no meaning here",
		"01": "can't begin with 0", "a.00.b": "can't begin with 0", "12345678901": "more than 9 digits", "#a": "must be alone", "a.##": "must be alone", "#.": "empty part",
		`a\b`: "doesn't need it", `a\`: "doesn't need it", "a\nb": "control", `#(a)`: "want a query", `#(a="b")`: "want a query", `#(a!="b")`: "want a query",
		`#(a%"b*")`: "want a query", `#(a>1)`: "want a query", `#(a=="~true")`: "must not begin with ~", `#(a==~true)`: "want a query", "#(a==\"x\ty\")": "control",
		"#(a==\"x\u0085\")": "control", `#(a=="b"`: "want a query", `#(a=="b")#`: "must be alone", `#(a=="b")x`: "must be alone", `#(=="b")`: "empty part",
		`#(a==b)`: "want a query", `#(a==01)`: "want a query", `#(a==null)`: "want a query", `#(a.#=="b")`: "want a query", `#(a|b=="c")`: "have no meaning here",
		`#(a=="b"c")`: "want a query", `#(01=="b")`: "can't begin with 0", strings.Repeat("a.", 600) + "a": "longer than", strings.Repeat("a.", 40) + "a": "more than 32",
	} {
		if _, err := Compile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", path, err, want)
		}
	}
}

func TestParse(t *testing.T) {
	for _, body := range []string{
		`{"a":1}`, "\ufeff{\"a\":1}", ")]}'\n{\"a\":1}", ")]}',\n{\"a\":1}", "for(;;);{\"a\":1}", "for (;;); {\"a\":1}", "\ufeff \r\n)]}'\t{\"a\":1} \n",
	} {
		if got := texts(t, body, "a"); !slices.Equal(got, []string{"1"}) {
			t.Errorf("%q: got %q", body, got)
		}
	}
	if got := texts(t, "{\"a\":\"x\xff\"}", "a"); got[0] != "s:x\ufffd" {
		t.Errorf("bytes that are no UTF-8: %q", got)
	}
}

func TestNoJSON(t *testing.T) {
	for body, want := range map[string]string{
		"": "line 1, column 1: JSON is cut short", " \n": "line 2, column 1: JSON is cut short", `{"a":1`: "line 1, column 7: JSON is cut short",
		"{\"a\":1,\n\"b\":\"x\\": "line 2, column 8: JSON is cut short", `[tru`: "line 1, column 5: JSON is cut short", `-`: "line 1, column 2: JSON is cut short",
		"{\"a\":1}}": "line 1, column 8: invalid character '}' after top-level value", "<html>": "line 1, column 1: invalid character '<'",
		"\ufeff)]}'\n{x": "line 2, column 2: invalid character 'x'", ")]}": "JSON is cut short", "for(;;": "JSON is cut short", "{}{}": "line 1, column 3:",
		"[1,]": "line 1, column 4:", "[01]": "line 1, column 3:", "{'a':1}": "line 1, column 2:", "[NaN]": "line 1, column 2:", "{\"a\":\"x\ny\"}": "line 1, column 8:",
		strings.Repeat("[", 10001): "line 1, column 10001: invalid character '[' exceeded max depth", "{}\x00": "line 1, column 3:",
	} {
		_, err := Parse([]byte(body))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %s", body, err, want)
		}
		if errors.Is(err, ErrCut) != strings.Contains(want, "cut short") {
			t.Errorf("%.40q: cut short: %v", body, err)
		}
	}
}

// TestEveryCut: what is left of a text that was cut anywhere is never read.
func TestEveryCut(t *testing.T) {
	const whole = `{"a":[1.5e3,true,null,"é\"\u00e9"],"b":{"c":-0}}`
	for i := range len(whole) {
		if _, err := Parse([]byte(whole[:i])); !errors.Is(err, ErrCut) {
			t.Errorf("%q: %v", whole[:i], err)
		}
	}
}

func TestItems(t *testing.T) {
	for body, want := range map[string]string{
		`[1,"a",[]]`: "1 s:a []", `{"x":1,"y":{},"x":2,"\u0079":3}`: "1 {}", `"a"`: "", `null`: "", "5": "", "[]": "", "{}": "",
	} {
		v, err := Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for item := range v.Items() {
			got = append(got, said(item.Kind(), item.Text()))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}

// TestDeep: nesting neither ends the program nor takes long, at any path.
func TestDeep(t *testing.T) {
	began := time.Now()
	deep := strings.Repeat("[", 9999) + strings.Repeat("]", 9999)
	for _, path := range []string{"0.0.0", "#.#.#.#", "#", `#(0=="1")`, strings.Repeat("0.", 31) + "0", strings.Repeat("#.", 31) + "#", "a.0.b"} {
		texts(t, deep, path)
		texts(t, `{"a":`+deep[1:len(deep)-1]+`}`, path)
	}
	if _, err := Parse([]byte(strings.Repeat("[", 10<<20))); err == nil {
		t.Error("10 MB of brackets are JSON")
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestKey(t *testing.T) {
	for path, want := range map[string]string{"ypid": "ypid", `a\.b`: "a.b", "a.b": "", "0": "0", "#": "", "@x": "@x"} {
		if p, err := Compile(path); err != nil || p.Key() != want {
			t.Errorf("%s: got %q, %v", path, p.Key(), err)
		}
	}
}
