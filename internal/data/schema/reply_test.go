package schema_test

import (
	"testing"

	"github.com/concerto-lang/concerto/internal/data/schema"
)

func TestIsStrict(t *testing.T) {
	for text, want := range map[string]bool{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`:                                    true,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`:              false,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                 false,
		`{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}},"required":["a"],"additionalProperties":false}`:              true,
		`{"type":"object","properties":{"a":{"type":"array","items":{}}},"required":["a"],"additionalProperties":false}`:                          false,
		`{"type":"object","properties":{"a":{"type":"string","default":"x"}},"required":["a"],"additionalProperties":false}`:                      false,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"additionalProperties":false}`:        true,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{}]}},"required":["a"],"additionalProperties":false}`:                     false,
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"],"additionalProperties":false}`:                                         true,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"required":["a"],"additionalProperties":false,"$defs":{"x":{"type":"object"}}}`: false,
		`{"type":"object","additionalProperties":{"type":"integer"}}`:                                                                             false,
		`{"type":"array","prefixItems":[{"type":"integer"}]}`:                                                                                     false,
		`{}`:   false,
		`true`: false,
	} {
		if got := schema.IsStrict([]byte(text)); got != want {
			t.Errorf("IsStrict(%s) = %v, want %v", text, got, want)
		}
	}
}
