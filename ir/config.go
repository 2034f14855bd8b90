package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// member is a member of an object.
type member struct {
	Name  string
	Value json.RawMessage
}

// WithMember returns the JSON object with the member name set to v. An existing member stays in its
// position, and a new one comes last. A nil object has no members.
func WithMember(object json.RawMessage, name string, v json.RawMessage) (json.RawMessage, error) {
	all, err := membersOf(object)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(m member) bool { return m.Name == name })
	if at < 0 {
		all = append(all, member{name, v})
	} else {
		all[at].Value = v
	}
	return objectOf(all), nil
}

func membersOf(object json.RawMessage) ([]member, error) {
	if object == nil {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(object))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("not a JSON object: %.40s", object)
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{Name: name.(string)}
		if err := d.Decode(&m.Value); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

func objectOf(all []member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range all {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.Name), ':')
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
		var all []member
		for _, p := range pairs {
			all = append(all, member{p.Name, appendString(nil, p.Value)})
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
