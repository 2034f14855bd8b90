package jsonread

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

var texts = []string{
	`{}`, ` { "id" : "a" , "count" : -12 } `, `{"id":"é\u00e9\n\ud83d\ude00 \ud83d","inner":{"text":"x","flag":true},"ptr":{"flag":false}}`,
	`{"content":[{"text":"a"},{"text":null},{}],"map":{"a":"b"},"texts":["a","b",""],"raw":{"a":[1,2.5e3,{"b":null}]},"Raws":[1,"x",null]}`,
	`{"self":{"self":{"id":"deep"}},"float":1.5,"any":[1,"x"],"bytes":"aGk=","unknown":{"x":[[],{},"\""]},"raw":null,"ptr":null}`,
	`{"id":null,"count":null,"content":[],"texts":null,"any":null}`, `null`, `[]`, `"x"`, `1`, `true`, ``, ` `, `{`, `{"id":"a"`, `{"id":"a"}x`, `{"id":"a",}`, `{"id"}`,
	`{"ID":"folded"}`, `{"id":"a","id":"b"}`, `{"content":[{"text":"a"}],"content":[{}]}`, `{"count":1.0}`, `{"count":"1"}`, `{"count":1e2}`, `{"count":01}`, `{"count":-}`, `{"count":-0}`,
	`{"count":9223372036854775807}`, `{"count":9223372036854775808}`, `{"small":127}`, `{"small":128}`, `{"small":-129}`, `{"inner":[]}`, `{"content":{}}`, `{"texts":[1]}`,
	`{"\u0069d":"escaped"}`, "{\"id\":\"\xff\"}", "{\"id\":\"a\tb\"}", `{"x":tru}`, `{"x":1.}`, `{"x":"\x"}`, `{"x":-}`, `{"x":[1,]}`, `{"x":nulll}`, "{\"x\":\"\x01\"}",
	`{"own":3,"Hidden":"x","-":"y"}`, `{"bytes":"!"}`, `{"map":{"a":1}}`, "\ufeff{}", `{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`,
	strings.Repeat(`{"self":`, 80) + `{}` + strings.Repeat(`}`, 80),
}

// members compares the results of Members and Plain with those of encoding/json.
func members(t *testing.T, text []byte) {
	t.Helper()
	got := map[string]json.RawMessage{}
	n := 0
	if !Members(text, func(name, value []byte) bool {
		n++
		got[string(name)] = value
		return true
	}) {
		return
	}
	var want map[string]json.RawMessage
	if err := json.Unmarshal(text, &want); err != nil || !reflect.DeepEqual(got, want) || n < len(want) {
		t.Errorf("Members(%q) returns %s; want %s (error %v)", text, got, want, err)
	}
	for _, value := range got {
		inner, ok := Plain(value)
		var s string
		if err := json.Unmarshal(value, &s); ok && (err != nil || s != string(inner)) {
			t.Errorf("Plain(%s) = %q, want %q (error %v)", value, inner, s, err)
		}
	}
}

func TestMembers(t *testing.T) {
	for _, text := range texts {
		members(t, []byte(text))
	}
}

const signs = `{}[]",:\0123.eEtfnu- `

// TestMutations calls members for texts in which bytes or parts have been changed at random.
func TestMutations(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 30_000 {
		text := []byte(texts[r.IntN(len(texts))])
		for range 1 + r.IntN(3) {
			at, other := r.IntN(len(text)+1), texts[r.IntN(len(texts))]
			from := r.IntN(len(other) + 1)
			part := other[from:min(len(other), from+r.IntN(12))]
			if r.IntN(2) == 0 {
				part = signs[r.IntN(len(signs)):][:1]
			}
			text = append(append(text[:at:at], part...), text[min(len(text), at+r.IntN(3)):]...)
		}
		if members(t, text); t.Failed() {
			return
		}
	}
}

// TestFast checks that Members accepts texts of the usual form.
func TestFast(t *testing.T) {
	for _, text := range texts[:5] {
		if !Members([]byte(text), func(name, value []byte) bool { return true }) {
			t.Errorf("Members does not accept %s", text)
		}
	}
	if Members([]byte(`{"a":1}`), func(name, value []byte) bool { return false }) {
		t.Error("Members returned true although each returned false")
	}
}

func FuzzMembers(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(members)
}
