package ir

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/text/jsonread"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// WithMember returns the JSON object with the member name set to v. An existing member stays in its
// position, and a new one comes last. A nil object has no members.
func WithMember(object json.RawMessage, name string, v json.RawMessage) (json.RawMessage, error) {
	var all []jsonread.Member
	if object != nil {
		var err error
		if all, err = jsonread.List(object); err != nil {
			return nil, err
		}
	}
	at := slices.IndexFunc(all, func(m jsonread.Member) bool { return m.Name == name })
	if at < 0 {
		all = append(all, jsonread.Member{Name: name, Value: v})
	} else {
		all[at].Value = v
	}
	return objectOf(all), nil
}

func objectOf(all []jsonread.Member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonwrite.Plain.Append(out, m.Name), ':')
		out = append(out, m.Value...)
	}
	return append(out, '}')
}

// Keys that were members of hosts and servers themselves before version 1.6. In these versions a
// table of strings was a list of names and values.
var (
	hostKeys = []string{"transport", "command", "args", "env", "working_dir", "input_format", "output_format", "timeout",
		"question_timeout", "question_default", "approval_default", "params_env", "instances", "max_line"}
	serverKeys = []string{"transport", "command", "args", "env", "url", "headers", "headers_env", "timeout"}
	tableKeys  = []string{"env", "params_env", "headers", "headers_env"}
)

// flat reads a member whose key is in keys, and adds it to config. It is for files of versions
// before 1.6.
func (c *codec) flat(keys []string, config *json.RawMessage) {
	if c.writing || !slices.Contains(keys, c.key) {
		return
	}
	at, name, v := c.pos, c.key, bytes.Clone(c.readRaw())
	if slices.Contains(tableKeys, name) {
		var pairs []struct{ Name, Value string }
		if err := json.Unmarshal(v, &pairs); err != nil {
			c.fail(at, "%s: %v", name, err)
		}
		var all []jsonread.Member
		for _, p := range pairs {
			all = append(all, jsonread.Member{Name: p.Name, Value: jsonwrite.Plain.Append(nil, p.Value)})
		}
		v = objectOf(all)
	}
	with, err := WithMember(*config, name, v)
	if err != nil {
		c.fail(at, "config: %v", err)
	}
	*config = with
	c.done()
}
