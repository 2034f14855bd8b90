package value

import "errors"

// ErrNoType means that a line is JSON, but not an object with a string `type`.
var ErrNoType = errors.New("not an object with a string `type`")

// ParseMessage parses the line of a host in one pass. It returns the string member `type`, the JSON
// of the member `id` (a part of line; nil if there is none), and a map of all members except
// `type`, in order. The error is a *SyntaxError if the line is not JSON, or ErrNoType if it is
// other JSON. A lone surrogate becomes U+FFFD. If a number is out of range, the error is a
// *SyntaxError with Range, and the other results are valid, with nil for the number.
func ParseMessage(line []byte) (typ string, id []byte, payload Slot, err error) {
	return ParseMessageIn(line, unbounded)
}

// ParseMessageIn is like ParseMessage. It calls room before it allocates memory, with the number of
// bytes. room panics if the memory limit would be exceeded.
func ParseMessageIn(line []byte, room func(n int)) (typ string, id []byte, payload Slot, err error) {
	d := decoders.Get().(*decoder)
	d.data, d.at, d.room, d.wire = line, 0, room, true
	typ, id, payload, err = d.message()
	d.release()
	return typ, id, payload, err
}

func (d *decoder) message() (typ string, id []byte, payload Slot, err error) {
	if d.peek() != '{' {
		if _, err := d.document(); err != nil {
			return "", nil, Nil, err
		}
		return "", nil, Nil, ErrNoType
	}
	typed := false
	for more := d.beginList(0, '}'); more; more = d.comma('}') {
		if !d.member() {
			return "", nil, Nil, d.fault
		}
		k := d.keyed
		d.space()
		from := d.at
		s := d.value(1)
		if d.fault != nil {
			return "", nil, Nil, d.fault
		}
		switch k.S {
		case "type":
			if typed = s.Kind() == KindString; typed {
				typ = s.AsString()
			}
			continue
		case "id":
			id = d.data[from:d.at]
		}
		d.pushEntry(0, k, s)
	}
	payload = d.close(0)
	if d.fault == nil {
		d.space()
		if d.at < len(d.data) {
			d.fail("unexpected text after the value")
		}
	}
	if d.fault != nil {
		return "", nil, Nil, d.fault
	}
	if !typed {
		return "", nil, Nil, ErrNoType
	}
	if d.huge != nil {
		return typ, id, payload, d.huge
	}
	return typ, id, payload, nil
}

// member decodes a key, into d.keyed, and the colon. It returns false after an error.
func (d *decoder) member() bool {
	if d.peek() != '"' {
		if d.at >= len(d.data) {
			d.fail("unexpected end of the text")
		} else {
			d.fail("expected a key in quotes")
		}
		return false
	}
	if d.keyed = d.key(); d.keyed == nil {
		return false
	}
	if d.peek() != ':' {
		d.fail("expected `:`")
		return false
	}
	d.at++
	return true
}
