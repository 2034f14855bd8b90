package build

import (
	"fmt"
	"regexp"
	"strings"
)

// markup is an element template. It consists of texts with a field between each two of them. A
// field is a JavaScript expression.
type markup struct {
	texts, fields []string
	line          int // line on which the template begins
	piece, at     int // read position: index of the text and offset in that text
}

// call returns the expression for a template: nothing, one node, or a list of nodes.
func (m *markup) call() (string, error) {
	nodes, err := m.nodes("")
	switch {
	case err != nil:
		return "", err
	case len(nodes) == 0:
		return "undefined", nil
	case len(nodes) == 1:
		return nodes[0], nil
	}
	return "[" + strings.Join(nodes, ",") + "]", nil
}

// rest returns the unread text before the next field.
func (m *markup) rest() string { return m.texts[m.piece][m.at:] }

// field consumes the field at the read position and returns it, or false.
func (m *markup) field() (string, bool) {
	if m.rest() != "" || m.piece == len(m.fields) {
		return "", false
	}
	m.piece++
	m.at = 0
	return m.fields[m.piece-1], true
}

// edge matches white space that contains a line break, which only formats the source.
var edge = regexp.MustCompile(`^\s*\n\s*|\s*\n\s*$`)

// nodes reads nodes up to the closing tag of the parent, or to the end if parent is "".
func (m *markup) nodes(parent string) ([]string, error) {
	var out []string
	for {
		text := m.upTo("<")
		if text = edge.ReplaceAllString(text, ""); text != "" {
			out = append(out, "`"+text+"`")
		}
		if field, ok := m.field(); ok {
			out = append(out, field)
			continue
		}
		switch rest := m.rest(); {
		case rest == "" && parent == "":
			return out, nil
		case rest == "":
			return nil, fmt.Errorf("<%s> is never closed", sourceName(parent))
		case strings.HasPrefix(rest, "<!--"):
			if err := m.comment(); err != nil {
				return nil, err
			}
		case strings.HasPrefix(rest, "</"):
			return out, m.closes(parent)
		default:
			node, err := m.element()
			if err != nil {
				return nil, err
			}
			out = append(out, node)
		}
	}
}

// upTo consumes text up to one of the characters or the next field.
func (m *markup) upTo(any string) string {
	rest := m.rest()
	if i := strings.IndexAny(rest, any); i >= 0 {
		rest = rest[:i]
	}
	m.at += len(rest)
	return rest
}

func (m *markup) comment() error {
	for {
		if i := strings.Index(m.rest(), "-->"); i >= 0 {
			m.at += i + len("-->")
			return nil
		}
		m.at = len(m.texts[m.piece])
		if _, ok := m.field(); !ok {
			return fmt.Errorf("a comment is never closed")
		}
	}
}

// name reads a tag name. It returns a name that is written as text in quotes, and a name that is a
// field unchanged.
func (m *markup) name() string {
	if field, ok := m.field(); ok {
		return field
	}
	return "\"" + m.upTo(" \t\r\n/>=") + "\""
}

// sourceName returns a name as the source spells it.
func sourceName(name string) string { return strings.Trim(name, "\"()") }

// closes reads a closing tag, with or without a name.
func (m *markup) closes(parent string) error {
	m.at += len("</")
	m.at += len(m.rest()) - len(strings.TrimPrefix(m.rest(), "/"))
	switch name := m.name(); {
	case parent == "":
		return fmt.Errorf("</%s> closes nothing", sourceName(name))
	case name != `""` && name != parent:
		return fmt.Errorf("</%s> closes <%s>", sourceName(name), sourceName(parent))
	case !strings.HasPrefix(m.rest(), ">"):
		return fmt.Errorf("the tag </%s never ends", sourceName(name))
	}
	m.at++
	return nil
}

// element reads an element with its children.
func (m *markup) element() (string, error) {
	m.at++
	name := m.name()
	if name == `""` {
		return "", fmt.Errorf("an element has no name")
	}
	args := []string{name}
	props, open, err := m.props(name)
	if err != nil {
		return "", err
	}
	args = append(args, props)
	if open {
		nodes, err := m.nodes(name)
		if err != nil {
			return "", err
		}
		args = append(args, nodes...)
	}
	return tag + "(" + strings.Join(args, ",") + ")", nil
}

// props reads an element's properties and reports whether the element has children.
func (m *markup) props(name string) (string, bool, error) {
	var out []string
	for {
		m.at += len(m.rest()) - len(strings.TrimLeft(m.rest(), " \t\r\n"))
		rest := m.rest()
		switch {
		case strings.HasPrefix(rest, ">"), strings.HasPrefix(rest, "/>"):
			m.at += strings.Index(rest, ">") + 1
			if len(out) == 0 {
				return "null", rest[0] == '>', nil
			}
			return "{" + strings.Join(out, ",") + "}", rest[0] == '>', nil
		case rest == "":
			return "", false, fmt.Errorf("the tag <%s never ends, or has a field where a property's name is expected", sourceName(name))
		case rest == "...":
			m.at += len("...")
			field, _ := m.field()
			out = append(out, "..."+field)
			continue
		}
		prop := m.name()
		if prop == `""` {
			return "", false, fmt.Errorf("a property of <%s> has no name", sourceName(name))
		}
		value := "true"
		if strings.HasPrefix(m.rest(), "=") {
			m.at++
			var err error
			if value, err = m.value(); err != nil {
				return "", false, err
			}
		}
		out = append(out, prop+":"+value)
	}
}

// value reads a property's value: quoted, or up to white space or the tag's end.
func (m *markup) value() (string, error) {
	ends, quoted := " \t\r\n>=", false
	if rest := m.rest(); rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		ends, quoted = rest[:1], true
		m.at++
	}
	var parts, fields []string
	for {
		text := m.upTo(ends)
		if !quoted && strings.HasSuffix(text, "/") && strings.HasPrefix(m.rest(), ">") {
			text = text[:len(text)-1]
			m.at--
		}
		if text != "" {
			parts = append(parts, text)
		}
		if !quoted && strings.HasPrefix(m.rest(), "=") { // htm would read the rest as the value of the next property
			return "", fmt.Errorf("a value with a = in it needs quotes: %s", text)
		}
		field, ok := m.field()
		if !ok {
			break
		}
		fields = append(fields, field)
		parts = append(parts, "${"+field+"}")
	}
	if quoted {
		m.at += min(1, len(m.rest()))
	}
	if len(parts) == 1 && len(fields) == 1 {
		return fields[0], nil
	}
	return "`" + strings.Join(parts, "") + "`", nil
}
