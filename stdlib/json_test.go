package stdlib

import (
	"errors"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/data/value"
)

func TestJSON(t *testing.T) {
	run(t, []call{
		{"json.parse", `[" {\"a\": [1, 2.0, null]} "]`, `{"a":[1,2.0,null]}`, ""},
		{"json.stringify", `[{"a": [1, 2.0, "x"]}]`, `"{\"a\":[1,2.0,\"x\"]}"`, ""},
		{"json.stringify_pretty", `[{"a": [1], "e": {}}, 2]`, `"{\n  \"a\": [\n    1\n  ],\n  \"e\": {}\n}"`, ""},
		{"json.stringify_pretty", `[1, 17]`, `fault: stringify_pretty: the indent 17 must be 0 to 16`, ""},
		{"json.is_valid", `["[1,]"]`, `false`, ""},
		{"json.is_valid", `["1"]`, `true`, ""},
	})
	_, err := natives["json.parse"].Invoke("json.parse", []value.Slot{value.String("{\n  \"é\": 1,\n  \"b\": }\n")})
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != "JsonError" {
		t.Fatal(err)
	}
	s := e.Slot()
	for name, want := range map[string]int64{"offset": 20, "line": 3, "column": 8} {
		if v, _ := value.FieldByName(s, name); v.AsInt() != want {
			t.Errorf("%s = %d, want %d", name, v.AsInt(), want)
		}
	}
	if !strings.HasSuffix(e.Message, ", line 3, column 8") {
		t.Errorf("message = %s", e.Message)
	}
}
