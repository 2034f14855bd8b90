package host

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseConfig(t *testing.T) {
	const keys = `{"transport":"stdio","command":"./bin/w","args":["-v"],"env":{"B":"2"},"working_dir":"d","timeout":1.5,"input_format":"text",
		"output_format":"json","params_env":{"z":"Z","a":"A"},"instances":2,"max_line":9,"isolate":"copy","question_timeout":3,"message_types":[]}`
	params := []byte(`{"m":1}`)
	got, err := ParseConfig("W", "w", params, []byte(keys), "/root")
	want := Config{Name: "W", Connector: "w", Transport: "stdio", Command: "/root/bin/w", Args: []string{"-v"}, Env: map[string]string{"B": "2"}, Dir: "/root/d",
		Timeout: 1.5, InputFormat: "text", OutputFormat: "json", Params: params, ParamsEnv: ParamsEnv{{"z", "Z"}, {"a", "A"}}, Instances: 2, MaxLine: 9,
		Access: Access{Unattended: Unattended{QuestionTimeout: 3}}, Isolation: Isolation{Isolate: "copy", Root: "/root"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	for _, c := range []struct{ keys, root, command, dir string }{
		{``, "/root", "", "/root"},
		{`{"command":"python3"}`, "/root", "python3", "/root"},
		{`{"command":"/bin/x","working_dir":"/y"}`, "/root", "/bin/x", "/y"},
		{`{"command":"./x","working_dir":"y"}`, "", "./x", "y"},
	} {
		got, err := ParseConfig("W", "w", nil, []byte(c.keys), c.root)
		if err != nil || got.Command != c.command || got.Dir != c.dir {
			t.Errorf("keys %s with root %q: command %q in directory %q (error %v), want %q in %q", c.keys, c.root, got.Command, got.Dir, err, c.command, c.dir)
		}
	}
	for keys, want := range map[string]string{
		`[]`: "could not read the configuration of host W: ", `{"timeout":"1"}`: "could not read the configuration of host W: ", `{"params_env":[]}`: "could not read the configuration of host W: expected a JSON object", `{"params_env":{"a":1}}`: "could not read the configuration of host W: ",
		`{"timeout":-1}`: "could not read the configuration of host W: timeout is negative", `{"instances":-1}`: "instances is negative", `{"max_line":-1}`: "max_line is negative",
	} {
		if _, err := ParseConfig("W", "w", nil, []byte(keys), ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("keys %s: error %v, want %q", keys, err, want)
		}
	}
}
