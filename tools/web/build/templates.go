package build

import (
	"fmt"
	"strings"
)

// tag is the name of the function whose templates are compiled; parts/base.js binds it.
const tag = "html"

// bound replaces the module htm in the built page. Because all templates are compiled, the page
// calls the bound function directly.
const bound = "export default { bind: (h) => h };"

// compile replaces each html`…` of a module by calls of html(tag, props, ...children), according to
// the rules of htm. The browser then parses no templates. Where htm would ignore an error, such as
// an unclosed tag, compile returns an error with the line. Line numbers stay the same.
func compile(src string) (string, error) {
	tokens, err := scan(src)
	if err != nil {
		return "", err
	}
	c := &compiler{src: src, tokens: tokens}
	return c.code(0, len(tokens))
}

// compiler walks a module's tokens.
type compiler struct {
	src    string
	tokens []token
}

func (c *compiler) text(i int) string { return c.src[c.tokens[i].start:c.tokens[i].end] }

// code returns the tokens from i up to end with compiled templates and without comments.
func (c *compiler) code(i, end int) (string, error) {
	var out strings.Builder
	before := ""
	for ; i < end; i++ {
		is := c.text(i)
		switch k := c.tokens[i].kind; {
		case k == comment:
			out.WriteString(" " + newlines(is))
			continue
		case k == word && is == tag && before != "." && i+1 < end && c.tokens[i+1].kind == template:
			call, last, err := c.template(i + 1)
			if err != nil {
				return "", err
			}
			out.WriteString(call)
			i = last
		default:
			out.WriteString(is)
		}
		if c.tokens[i].kind != space {
			before = is
		}
	}
	return out.String(), nil
}

func newlines(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) }

// template compiles the template that begins at token i, and returns the index of its last token.
func (c *compiler) template(i int) (string, int, error) {
	m := markup{line: 1 + strings.Count(c.src[:c.tokens[i].start], "\n")}
	first := i
	for {
		piece := c.text(i)
		m.texts = append(m.texts, strings.TrimSuffix(strings.TrimSuffix(piece[1:], "`"), "${"))
		if strings.HasSuffix(piece, "`") && len(piece) > 1 {
			break
		}
		end := c.fieldEnd(i + 1)
		field, err := c.code(i+1, end)
		if err != nil {
			return "", 0, err
		}
		if c.listed(i+1, end) {
			field = "(" + field + ")"
		}
		m.fields = append(m.fields, strings.TrimSpace(field))
		i = end
	}
	call, err := m.call()
	if err != nil {
		return "", 0, fmt.Errorf("line %d: %w", m.line+strings.Count(strings.Join(m.texts[:m.piece+1], ""), "\n"), err)
	}
	lost := strings.Count(c.src[c.tokens[first].start:c.tokens[i].end], "\n") - strings.Count(call, "\n")
	return call + strings.Repeat("\n", max(lost, 0)), i, nil
}

// fieldEnd returns the index of the template piece after the field that begins at i.
func (c *compiler) fieldEnd(i int) int {
	for depth := 0; ; i++ {
		if c.tokens[i].kind != template {
			continue
		}
		piece := c.text(i)
		opens, closes := piece[0] == '`', strings.HasSuffix(piece, "`") && len(piece) > 1
		switch {
		case opens && !closes:
			depth++
		case !opens && depth == 0:
			return i
		case !opens && closes:
			depth--
		}
	}
}

// listed reports whether a field contains a comma outside of all brackets. In a call, such a comma
// would separate two arguments.
func (c *compiler) listed(i, end int) bool {
	for depth := 0; i < end; i++ {
		switch is := c.text(i); {
		case c.tokens[i].kind == template:
			depth += strings.Count(is[len(is)-1:], "{") - strings.Count(is[:1], "}")
		case c.tokens[i].kind != mark:
		case strings.Contains("([{", is):
			depth++
		case strings.Contains(")]}", is):
			depth--
		case is == "," && depth == 0:
			return true
		}
	}
	return false
}
