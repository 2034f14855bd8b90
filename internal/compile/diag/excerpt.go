package diag

import (
	"bufio"
	"io"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/source"
)

// Excerpt writes the source line of a span with carets under it, in the layout of Text. Errors of
// running programs use it. The returned error is that of a write to w.
func Excerpt(w io.Writer, f *source.File, s source.Span, opt TextOptions) error {
	b := bufio.NewWriter(w)
	r := renderer{w: b, palette: palette(opt.Color)}
	r.gutter = max(1, len(strconv.Itoa(f.LineOf(s.Start))))
	r.excerpt(f, []mark{{f, s, "", bad, "^"}})
	return b.Flush()
}
