package protocol

import "testing"

// TestSplitSeal takes the signature out of the data of commands. All other members remain as they
// were sent.
func TestSplitSeal(t *testing.T) {
	for _, c := range []struct{ data, rest, refusal string }{
		{`{"text":"a <b>", "seal":{"statement":{"v":1},"sig":"s","salt":"t"},"n":1.0}`, `{"text":"a <b>","n":1.0}`, ""},
		{`{"text":"a"}`, `{"text":"a"}`, ""},
		{`{"seal":null}`, `{}`, ""},
		{`{"seal":{"statement":"x","sig":"s","salt":"t"}}`, "", "bad_message: data.seal.statement must be an object"},
		{`{"seal":{"statement":{},"sig":"s"}}`, "", "bad_message: data.seal.salt is missing"},
		{`{"seal":{"statement":{},"sig":"s","salt":"t","more":1}}`, "", `bad_message: data.seal: json: unknown field "more"`},
		{`{"seal":{},"seal":{}}`, "", "bad_message: data: seal is there twice"},
		{`{"text":"a","text":"b"}`, "", "bad_message: data: text is there twice"},
	} {
		seal, rest, refused := SplitSeal([]byte(c.data))
		if refused != nil {
			if refused.Error() != c.refusal {
				t.Errorf("%s: refusal = %v, want %q", c.data, refused, c.refusal)
			}
			continue
		}
		if string(rest) != c.rest || c.refusal != "" || (seal != nil) != (c.data[0] == '{' && len(rest) < len(c.data)-20) {
			t.Errorf("%s: seal = %v, rest = %s, want %s, refusal %q", c.data, seal, rest, c.rest, c.refusal)
		}
	}
}
