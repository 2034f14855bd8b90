package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// codec writes or reads the format. One method per structure (format.go) lists its members for both
// directions. Members are written in that order. An optional member with the zero value is omitted.
// Members may be read in any order. Writing changes nothing in a program, which others may be
// running.
type codec struct {
	writing bool

	out   []byte
	first bool // the current object or list has no elements yet
	brk   bool // a line break precedes the next element

	in  []byte
	pos int
	key string // name of the member whose value is next; noKey at the end of an object
}

const noKey = "\x00"

// failure is the panic value of a failed read, which Decode recovers.
type failure struct{ err error }

func (c *codec) fail(offset int, format string, args ...any) {
	panic(failure{fmt.Errorf("%s at byte %d", fmt.Sprintf(format, args...), offset)})
}

// object writes or reads an object. The function members lists its members.
func (c *codec) object(members func()) {
	if c.writing {
		outer := c.first
		c.out, c.first = append(c.out, '{'), true
		members()
		c.breakLine()
		c.out, c.first = append(c.out, '}'), outer
		return
	}
	outer := c.key
	c.expect('{')
	c.nextKey(true)
	for c.key != noKey {
		before := c.pos
		members()
		if c.pos == before && c.key != noKey {
			c.fail(c.pos, "unknown member %q", c.key)
		}
	}
	c.key = outer
}

// member starts a member and reports whether its value must be written or read now. If so, the
// caller handles the value and calls done.
func (c *codec) member(name string) bool {
	if !c.writing {
		return c.key == name
	}
	c.separate()
	c.out = append(jsonwrite.Plain.Append(c.out, name), ':')
	return true
}

func (c *codec) done() {
	if !c.writing {
		c.nextKey(false)
	}
}

func (c *codec) separate() {
	if !c.first {
		c.out = append(c.out, ',')
	}
	c.first = false
	c.breakLine()
}

// line makes the next element start on a new line of the file.
func (c *codec) line() { c.brk = c.writing }

func (c *codec) breakLine() {
	if c.brk {
		c.out = append(c.out, '\n')
	}
	c.brk = false
}

// nextKey reads the key of the object's next member, or the end of the object.
func (c *codec) nextKey(first bool) {
	switch c.peek() {
	case '}':
		c.pos++
		c.key = noKey
		return
	case ',':
		if !first {
			c.pos++
		}
	default:
		if !first {
			c.fail(c.pos, "expected ',' or '}', found %q", c.in[c.pos])
		}
	}
	c.key = c.readString()
	c.expect(':')
}

func (c *codec) str(name string, p *string) {
	if c.member(name) {
		if c.writing {
			c.out = jsonwrite.Plain.Append(c.out, *p)
		} else {
			*p = c.readString()
		}
		c.done()
	}
}

// optStr writes or reads a string that is omitted if empty.
func (c *codec) optStr(name string, p *string) {
	if !c.writing || *p != "" {
		c.str(name, p)
	}
}

// textual writes or reads a value of a type of strings with str or optStr.
func textual[T ~string](c *codec, member func(string, *string), name string, p *T) {
	text := string(*p)
	member(name, &text)
	if !c.writing {
		*p = T(text)
	}
}

func (c *codec) int64(name string, p *int64) {
	if c.member(name) {
		if c.writing {
			c.out = strconv.AppendInt(c.out, *p, 10)
		} else {
			*p = c.readInt()
		}
		c.done()
	}
}

func (c *codec) int(name string, p *int) {
	n := int64(*p)
	c.int64(name, &n)
	if !c.writing {
		*p = int(n)
	}
}

// optInt writes or reads an integer that is omitted if zero.
func (c *codec) optInt(name string, p *int) {
	if !c.writing || *p != 0 {
		c.int(name, p)
	}
}

func (c *codec) optInt64(name string, p *int64) {
	if !c.writing || *p != 0 {
		c.int64(name, p)
	}
}

func (c *codec) float(name string, p *float64) {
	if c.member(name) {
		if c.writing {
			c.out = appendFloat(c.out, *p)
		} else {
			*p = c.readFloat()
		}
		c.done()
	}
}

func (c *codec) optFloat(name string, p *float64) {
	if !c.writing || *p != 0 {
		c.float(name, p)
	}
}

// flag writes or reads a boolean that is omitted if false.
func (c *codec) flag(name string, p *bool) {
	if c.writing && !*p {
		return
	}
	if c.member(name) {
		if c.writing {
			c.out = append(c.out, "true"...)
		} else {
			*p = c.readBool()
		}
		c.done()
	}
}

// raw writes or reads unchanged JSON that is omitted if nil.
func (c *codec) raw(name string, p *json.RawMessage) {
	if c.writing && *p == nil {
		return
	}
	if c.member(name) {
		if c.writing {
			var b bytes.Buffer
			if err := json.Compact(&b, *p); err != nil {
				panic("ir: " + name + " is not JSON: " + err.Error())
			}
			c.out = append(c.out, b.Bytes()...)
		} else {
			*p = bytes.Clone(c.readRaw())
		}
		c.done()
	}
}

// pointer writes or reads a member that is omitted if its pointer is nil.
func pointer[T any](c *codec, name string, p **T, member func(string, *T)) {
	switch {
	case c.writing && *p != nil:
		member(name, *p)
	case !c.writing && c.key == name:
		*p = new(T)
		member(name, *p)
	}
}

// list writes or reads a list that is omitted if empty. If lines is set, each element is on its own
// line.
func list[T any](c *codec, name string, p *[]T, lines bool, element func(*T)) {
	if !c.writing || len(*p) > 0 {
		wholeList(c, name, p, lines, element)
	}
}

// wholeList writes or reads a list that is written even if it is empty.
func wholeList[T any](c *codec, name string, p *[]T, lines bool, element func(*T)) {
	c.elements(name, len(*p), lines, func(i int) {
		if !c.writing {
			if i == 0 {
				*p = nil
			}
			*p = append(*p, *new(T))
		}
		element(&(*p)[i])
	})
}

// elements writes or reads the elements of a list. It is no part of wholeList, of which the program
// has a copy for each type.
func (c *codec) elements(name string, n int, lines bool, element func(i int)) {
	if !c.member(name) {
		return
	}
	if !c.writing {
		c.expect('[')
		for i := 0; c.peek() != ']'; i++ {
			if i > 0 {
				c.expect(',')
			}
			element(i)
		}
		c.pos++
		c.done()
		return
	}
	c.out, c.first = append(c.out, '['), true
	for i := range n {
		c.separate()
		if lines {
			c.out = append(c.out, '\n')
		}
		element(i)
	}
	if lines {
		c.out = append(c.out, '\n')
	}
	c.out, c.first = append(c.out, ']'), false
}

// Functions for the elements of lists.

func (c *codec) strElem(p *string) {
	if c.writing {
		c.out = jsonwrite.Plain.Append(c.out, *p)
	} else {
		*p = c.readString()
	}
}

func (c *codec) intElem(p *int) {
	if c.writing {
		c.out = strconv.AppendInt(c.out, int64(*p), 10)
	} else {
		*p = int(c.readInt())
	}
}
