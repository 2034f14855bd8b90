package effect

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// TestTable checks that each declared kind has a row, and that the columns of each row are
// consistent.
func TestTable(t *testing.T) {
	declared := declaredKinds(t)
	for _, k := range declared {
		if Lookup(k) == nil {
			t.Errorf("%s has no row in the table", k)
		}
	}
	if len(declared) != len(table) || len(byKind) != len(table) {
		t.Errorf("table has %d rows with %d kinds, want one for each of the %d declared kinds", len(table), len(byKind), len(declared))
	}
	for _, row := range table {
		r := row.Request()
		if r.Kind() != row.Kind {
			t.Errorf("%s: Request returns a request of kind %s", row.Kind, r.Kind())
		}
		if row.By >= Areas || row.By == ObserversOnly && row.Result != nil {
			t.Errorf("%s: invalid area, or a result although nothing is performed", row.Kind)
		}
		if c := ClassOf(r); c.String() == "" {
			t.Errorf("%s: class %d has no name", row.Kind, c)
		}
		if row.Inline && row.Class == ClassWaits {
			t.Errorf("%s is Inline, but its class is ClassWaits", row.Kind)
		}
		if (row.Class == ClassRead || row.Class == ClassDerived) && row.Keyed || row.Class == ClassTold && row.Result != nil {
			t.Errorf("%s: an effect of class %s must have neither a key nor, for output, a result", row.Kind, row.Class)
		}
		if row.Class == ClassRetry && !row.Keyed {
			t.Errorf("%s is of class ClassRetry, but not Keyed", row.Kind)
		}
	}
}

// declaredKinds returns the values of the Kind constants in the source of this package.
func declaredKinds(t *testing.T) []Kind {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var out []Kind
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || v.Type == nil || len(v.Values) != 1 {
				return true
			}
			if id, ok := v.Type.(*ast.Ident); ok && id.Name == "Kind" {
				text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				out = append(out, Kind(text))
			}
			return true
		})
	}
	return out
}

// TestClasses checks the class of requests for which it depends on the request.
func TestClasses(t *testing.T) {
	for _, c := range []struct {
		r    Request
		want Class
	}{
		{&HTTP{Method: "GET"}, ClassRead}, {&HTTP{Method: "HEAD"}, ClassRead}, {&HTTP{Method: "OPTIONS"}, ClassRead},
		{&HTTP{Method: "PUT"}, ClassRetry}, {&HTTP{Method: "DELETE"}, ClassRetry},
		{&HTTP{Method: "POST"}, ClassOnce}, {&HTTP{Method: "PATCH"}, ClassOnce}, {&HTTP{Method: "get"}, ClassOnce},
		{&MCPOpen{Tool: "t"}, ClassOnce}, {&MCPOpen{Method: MCPCallTool, Tool: "t"}, ClassOnce},
		{&MCPOpen{Method: MCPListTools}, ClassRead}, {&MCPOpen{Method: MCPReadResource}, ClassRead}, {&MCPOpen{Method: MCPGetPrompt}, ClassRead},
	} {
		if got := ClassOf(c.r); got != c.want {
			t.Errorf("ClassOf(%+v) = %s, want %s", c.r, got, c.want)
		}
	}
}

// TestRoundTrip encodes and decodes each request and result, with all fields set and with zero
// fields. Journals and mocks require that the values are equal.
func TestRoundTrip(t *testing.T) {
	for _, row := range table {
		roundTrip(t, row.Request(), row.Request())
		full := row.Request()
		fill(t, reflect.ValueOf(full).Elem(), string(row.Kind))
		roundTrip(t, full, row.Request())
		if row.Result == nil {
			continue
		}
		some := row.Result()
		fill(t, reflect.ValueOf(some).Elem(), string(row.Kind))
		roundTrip(t, some, row.Result())
	}
}

func roundTrip(t *testing.T, x, back any) {
	t.Helper()
	text, err := json.Marshal(x)
	if err != nil {
		t.Fatalf("Marshal of %T: %v", x, err)
	}
	if err := json.Unmarshal(text, back); err != nil {
		t.Fatalf("Unmarshal of %T: %v\n%s", x, err, text)
	}
	same := cmp.Comparer(func(a, b value.Slot) bool {
		return string(value.AppendJSON(nil, a)) == string(value.AppendJSON(nil, b))
	})
	// A nil RawMessage is encoded as null, so both count as equal.
	null := cmp.FilterValues(func(a, b json.RawMessage) bool { return isNull(a) && isNull(b) }, cmp.Ignore())
	if diff := cmp.Diff(x, back, same, null); diff != "" {
		t.Errorf("decoding %s differs (-want +got):\n%s", text, diff)
	}
}

func isNull(j json.RawMessage) bool { return len(j) == 0 || string(j) == "null" }

// fill sets all fields of a value to non-zero values.
func fill(t *testing.T, v reflect.Value, at string) {
	t.Helper()
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"a":[1.50,"é\u0000"]}`))
		return
	case value.Slot:
		p, err := value.Parse([]byte(`{"b":1,"a":[9007199254740993,null]}`))
		if err != nil {
			t.Fatal(err)
		}
		v.Set(reflect.ValueOf(p))
		return
	case HostMessage:
		v.Set(reflect.ValueOf(HostMessage{Type: "é", ID: `"q\u0031"`, Text: []byte(`{"type":"é"} `)}))
		fill(t, v.FieldByName("Payload"), at)
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("é\x00 of " + at)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(-1 << 62)
	case reflect.Uint64:
		v.SetUint(1<<64 - 1)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), at)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 255})
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i), at)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			// fields with the tag "-" are not encoded
			if f := v.Type().Field(i); f.Tag.Get("json") != "-" {
				fill(t, v.Field(i), at+"."+strings.ToLower(f.Name))
			}
		}
	default:
		t.Fatalf("%s: a field of type %s is not plain data", at, v.Type())
	}
}
