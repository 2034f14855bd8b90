package manifest

import (
	"encoding/json"
	"slices"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Embedded returns the connection as a JSON object, in the form that the IR contains and the model
// client reads. It contains the keys that the manifest sets. replies are the replies in the
// connection's script, or nil without a script. origin is the position of the connection for
// messages, such as "Concerto.toml:8", or "". Secrets are represented by the names of their
// environment variables.
func (c *Connection) Embedded(replies json.RawMessage, origin string) json.RawMessage {
	object := slices.Clone(c.Config)
	if replies != nil {
		addMember(&object, "replies", replies)
	}
	if origin != "" {
		addMember(&object, "origin", jsonwrite.Text(nil, origin))
	}
	return object
}

// decode stores the keys of Config in the fields of c.
func (c *Connection) decode() {
	if err := json.Unmarshal(c.Config, c); err != nil {
		panic("manifest: [connections." + c.Name + "]: " + err.Error()) // the reader has checked the types
	}
}

// addMember adds a member to a JSON object.
func addMember(object *json.RawMessage, name string, value []byte) {
	out := slices.Clone((*object)[:len(*object)-1])
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = jsonwrite.Text(out, name)
	out = append(out, ':')
	out = append(out, value...)
	*object = append(out, '}')
}
