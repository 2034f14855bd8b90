package parser

import (
	"sort"
	"strings"

	"github.com/concerto-lang/concerto/internal/source"
)

// docBefore is the text of the doc comments whose next token starts at pos:
// the lines without their slashes and the blank after them.
func (p *parser) docBefore(pos source.Pos) string {
	n := sort.Search(len(p.comments), func(i int) bool { return p.comments[i].Start >= pos })
	first := n
	for end := pos; first > 0; first-- {
		c := p.comments[first-1]
		if strings.Trim(p.src[c.End:end], " \t\r\n\ufeff") != "" {
			break
		}
		end = c.Start
	}
	var lines []string
	for _, c := range p.comments[first:n] {
		if c.Doc {
			lines = append(lines, strings.TrimPrefix(p.src[c.Start+3:c.End], " "))
		}
	}
	return strings.Join(lines, "\n")
}
