package mcp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestExactNumbers checks that ids and progress tokens keep every digit, and that others are not
// changed.
func TestExactNumbers(t *testing.T) {
	for _, id := range []string{"1", "9007199254740993", "-9007199254740993", "123456789012345678901234567890", "1.5", "1e3", "-0", `"9007199254740993"`, "null"} {
		for _, message := range []string{`{"id":` + id + `,"method":"ping"}`, `{"method":"notifications/cancelled","params":{"requestId":` + id + `}}`,
			`{"method":"x","params":{"_meta":{"progressToken":` + id + `}}}`} {
			in := exactIn([]byte(message))
			if got := string(exactOut(in)); got != message {
				t.Errorf("%s became %s", message, got)
			}
		}
	}
	for text, want := range map[string]string{`{"a":[1,{"b":1e400}]}`: "its structured result is invalid: `a[1].b`: number is out of range",
		`{"id":1234567890123456789,"price":2.0,"s":"\ud83d"}`: ""} {
		data, err := structuredResult(text)
		if got := ""; err != nil {
			if got = err.Error(); got != want {
				t.Errorf("%s: error %q, want %q", text, got, want)
			}
		} else if want != "" || string(data) != strings.Replace(text, `\ud83d`, "\ufffd", 1) {
			t.Errorf("%s is read as %s", text, data)
		}
	}
}

// TestDeclarationsOfNull checks the declarations for null and the parts of `allOf`.
func TestDeclarationsOfNull(t *testing.T) {
	for schema, want := range map[string]string{
		`{"properties":{"y":{"type":["string","null"]}},"required":["y"]}`:                                            "fn f(y: String?) -> String;",
		`{"properties":{"y":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"required":["y"]}`:                        "fn f(y: Int?) -> String;",
		`{"allOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"integer"}}}]}`: "fn f(a: String, b: Int?) -> String;",
		`{"properties":{"y":{"type":["string","null"]}}}`:                                                             "fn f(y: String?) -> String;",
	} {
		d := (&declarer{used: map[string]bool{}}).function(&sdk.Tool{Name: "f", InputSchema: json.RawMessage(schema)}, "f")
		if d.Signature != want {
			t.Errorf("%s: %s, want %s", schema, d.Signature, want)
		}
	}
	if got := string(withNulls(json.RawMessage(`{"z":1}`), []string{"x", "z"})); got != `{"z":1,"x":null}` {
		t.Error(got)
	}
}

// TestOwnNames checks which tools of a server a name may mean.
func TestOwnNames(t *testing.T) {
	names := []string{"..", "Notes_find", "a\u200bb", "a-b", "a.b", "delete-all", "delete_all", "one-more"}
	for declared, want := range map[string][]string{"delete_all": {"delete_all"}, "a_b": {"a-b", "a.b"}, "one_more": {"one-more"}, "find": {"Notes_find"}, "nothing": nil} {
		if got := ownNames("Notes", names, declared); !slices.Equal(got, want) {
			t.Errorf("%s may mean %q, want %q", declared, got, want)
		}
	}
}
