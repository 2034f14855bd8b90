package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// object is a JSON object with its members in order.
type object []member

type member struct {
	name  string
	value json.RawMessage
}

var errNoObject = errors.New("no object")

// parseObject parses a line as an object. It returns errNoObject for any other JSON.
func parseObject(line string) (object, error) {
	if !json.Valid([]byte(line)) {
		return nil, errors.New("no JSON")
	}
	d := json.NewDecoder(strings.NewReader(line))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, errNoObject
	}
	o := object{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: name.(string)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	return o, nil
}

// raw returns a member as JSON, or "" if the member does not exist.
func (o object) raw(name string) string {
	for _, m := range o {
		if m.name == name {
			return string(m.value)
		}
	}
	return ""
}

// text returns a string member; ok is false for any other member.
func (o object) text(name string) (s string, ok bool) {
	raw := o.raw(name)
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal([]byte(raw), &s) == nil
}

// without returns the object without the named member.
func (o object) without(name string) object {
	var rest object
	for _, m := range o {
		if m.name != name {
			rest = append(rest, m)
		}
	}
	return rest
}

func (o object) with(name, value string) object {
	return append(append(object{}, o...), member{name, json.RawMessage(value)})
}

func (o object) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quote(m.name) + ":" + Canonical(string(m.value)))
	}
	return b.String() + "}"
}

// Canonical returns JSON in a normal form: without white space, with the escapes that quote uses,
// and with the order of members unchanged.
func Canonical(text string) string {
	var b strings.Builder
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := canonical(&b, d); err != nil {
		return "not JSON: " + text
	}
	if _, err := d.Token(); err != io.EOF {
		return "not one JSON text: " + text
	}
	return b.String()
}

func canonical(b *strings.Builder, d *json.Decoder) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch t := t.(type) {
	case json.Delim:
		b.WriteString(t.String())
		for i := 0; d.More(); i++ {
			if i > 0 {
				b.WriteByte(',')
			}
			if t == '{' {
				name, err := d.Token()
				if err != nil {
					return err
				}
				b.WriteString(quote(name.(string)) + ":")
			}
			if err := canonical(b, d); err != nil {
				return err
			}
		}
		end, err := d.Token()
		if err != nil {
			return err
		}
		b.WriteString(end.(json.Delim).String())
	case string:
		b.WriteString(quote(t))
	case json.Number:
		b.WriteString(t.String())
	case bool:
		if t {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	default:
		b.WriteString("null")
	}
	return nil
}

// quote returns a string as JSON.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
