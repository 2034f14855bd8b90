package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
)

// object builds one JSON object, its members in the order given.
type object struct{ b []byte }

func newObject(typ string) *object {
	return &object{value.AppendString([]byte(`{"type":`), typ)}
}

// text adds a string member.
func (o *object) text(name, s string) {
	o.key(name)
	o.b = value.AppendString(o.b, s)
}

// raw adds a member that is JSON already.
func (o *object) raw(name string, v []byte) {
	o.key(name)
	o.b = append(o.b, v...)
}

// key begins a member; names are plain words.
func (o *object) key(name string) {
	o.b = append(o.b, ',', '"')
	o.b = append(append(o.b, name...), '"', ':')
}

// end gives the whole object.
func (o *object) end() []byte { return append(o.b, '}') }

// member is a member of an object.
type member struct {
	name  string
	value json.RawMessage
}

// members are those of a JSON object, in their order.
func members(object []byte) ([]member, error) {
	bad := func(err error) error { return fmt.Errorf("not a JSON object: %w", err) }
	d := json.NewDecoder(bytes.NewReader(object))
	open, err := d.Token()
	if err != nil || open != json.Delim('{') {
		return nil, bad(fmt.Errorf("%v begins it: %w", open, err))
	}
	var all []member
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, bad(err)
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, bad(err)
		}
		all = append(all, m)
	}
	return all, nil
}

// membersOf are an object's members in their order; none when it is no object.
func membersOf(text []byte) []member {
	all, err := members(text)
	if err != nil {
		return nil
	}
	return all
}

// encode writes what a vendor gets. What comes from elsewhere is in it as it came.
func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("host: what is said to a vendor is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// idOf is the id of a message of ours, a text.
func idOf(line []byte) string {
	var m struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(line, &m) // one without is about nothing
	return m.ID
}

func beginsObject(text []byte) bool {
	rest := bytes.TrimLeft(text, blanks)
	return len(rest) > 0 && rest[0] == '{'
}

// blanks are the bytes that a line may begin with and mean nothing.
const blanks = " \t\r\v\f"

// quoteLimit bounds how much of a host's line an error message repeats.
const quoteLimit = 200

// quote gives a line of a host's for an error message, cut when long.
func quote(line []byte) string {
	s := stderrlog.Escape(string(line[:min(len(line), quoteLimit+1)]), "\t")
	if len(s) > quoteLimit {
		s = strings.ToValidUTF8(s[:quoteLimit], "") + "…"
	}
	return s
}
