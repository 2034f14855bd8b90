package serve

import (
	"encoding/json"
	"reflect"
	"testing"
)

// TestUsual checks that parseFast accepts messages of the usual form and decodes them like
// encoding/json. It must not accept other messages.
func TestUsual(t *testing.T) {
	usual := []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, ` {"params": {"a":[1]}, "method":"x","id":"r1","jsonrpc":"2.0"} `,
		`{"jsonrpc":"2.0","id":"é","result":null}`, `{"jsonrpc":"2.0","method":"m","params":null}`, `{}`,
	}
	unusual := []string{
		`{"jsonrpc":"2.1","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"method":"p\u0069ng"}`, `{"jsonrpc":"2.0","ID":1,"method":"ping"}`, `{"id":1,"id":2}`,
		`{"method":"a","method":"b"}`, `{"method":null}`, `{"method":1}`, `{"id":{}}`, `{"error":{"code":1,"message":"x"}}`, `{"more":1}`, `{"id":1}}`, `{"params":[}`, `[]`, ``,
		`{"result":1,"result":2}`, `{"params":1,"params":2}`, `{"jsonrpc":"2.0","jsonrpc":"2.0"}`, "{\"method\":\"\xff\"}",
	}
	for _, text := range usual {
		var got, want message
		if !got.parseFast([]byte(text)) {
			t.Errorf("parseFast does not accept %s", text)
		}
		if err := json.Unmarshal([]byte(text), &want); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("parseFast(%s) = %+v, want %+v (error %v)", text, got, want, err)
		}
	}
	for _, text := range unusual {
		if m := (&message{}); m.parseFast([]byte(text)) {
			t.Errorf("parseFast accepts the unusual message %s", text)
		}
	}
}
