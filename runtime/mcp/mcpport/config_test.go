package mcpport

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	for keys, want := range map[string]Config{
		``: {Name: "S", Transport: "stdio", Dir: "/d"},
		`{"command":"c","args":["a"],"env":{"A":"1"},"timeout":2}`:       {Name: "S", Transport: "stdio", Dir: "/d", Command: "c", Args: []string{"a"}, Env: map[string]string{"A": "1"}, Timeout: 2},
		`{"url":"http://h","headers":{"X":"y"},"headers_env":{"Z":"V"}}`: {Name: "S", Transport: "http", Dir: "/d", URL: "http://h", Headers: map[string]string{"X": "y"}, HeadersEnv: map[string]string{"Z": "V"}},
		`{"url":"http://h","command":"c","transport":"stdio"}`:           {Name: "S", Transport: "stdio", Dir: "/d", URL: "http://h", Command: "c"},
	} {
		got, err := ParseConfig("S", []byte(keys), "/d")
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("keys %s: error %v, config (-want +got):\n%s", keys, err, diff)
		}
	}
	if _, err := ParseConfig("S", []byte(`{"url":1}`), ""); err == nil {
		t.Error("a number was accepted as an address")
	}
}
