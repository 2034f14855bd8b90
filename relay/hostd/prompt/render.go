package prompt

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// Render returns the text that a terminal displays at the end of an output, line by line. It
// removes colours, titles and similar escape sequences. It applies carriage returns, backspaces,
// tabs and erased lines. It ignores vertical movements of the cursor, so the text of full-screen
// programs is in the order of output.
func Render(output []byte) string {
	r := renderer{}
	for i := 0; i < len(output); {
		if output[i] == 0x1b {
			i += r.escape(output[i:])
			continue
		}
		c, size := utf8.DecodeRune(output[i:])
		i += size
		r.put(c)
	}
	r.newline()
	return strings.TrimSuffix(r.done.String(), "\n")
}

type renderer struct {
	done strings.Builder
	line []rune
	at   int
}

func (r *renderer) put(c rune) {
	switch {
	case c == '\n':
		r.newline()
	case c == '\r':
		r.at = 0
	case c == '\b':
		r.at = max(r.at-1, 0)
	case c == '\t':
		r.move(r.at/8*8 + 8)
	case c < ' ' || c == 0x7f:
	default:
		r.move(r.at)
		if r.at < len(r.line) {
			r.line[r.at] = c
		} else {
			r.line = append(r.line, c)
		}
		r.at++
	}
}

// move moves the cursor within its line.
func (r *renderer) move(to int) {
	to = min(to, 4096)
	for len(r.line) < to {
		r.line = append(r.line, ' ')
	}
	r.at = to
}

func (r *renderer) newline() {
	r.done.WriteString(string(r.line))
	r.done.WriteByte('\n')
	r.line, r.at = r.line[:0], 0
}

// escape handles an escape sequence and returns its length in bytes.
func (r *renderer) escape(b []byte) int {
	if len(b) < 2 {
		return 1
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if c := b[i]; c >= 0x40 && c <= 0x7e {
				r.control(string(b[2:i]), c)
				return i + 1
			}
		}
		return len(b)
	case ']', 'P', '_', '^', 'X': // a string, which ends with BEL or ESC \
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
		}
		return len(b)
	case '(', ')', '*', '+', '#', ' ', '%':
		return min(3, len(b))
	}
	return 2
}

func (r *renderer) control(args string, c byte) {
	n, err := strconv.Atoi(strings.SplitN(args, ";", 2)[0])
	if err != nil {
		n = 0
	}
	switch c {
	case 'K':
		switch n {
		case 0:
			r.line = r.line[:min(r.at, len(r.line))]
		case 2:
			r.line = r.line[:0]
			r.move(r.at)
		}
	case 'C':
		r.move(r.at + max(n, 1))
	case 'D':
		r.at = max(r.at-max(n, 1), 0)
	case 'G':
		r.move(max(n, 1) - 1)
	case 'H', 'f', 'B', 'E': // the output continues on another line
		if len(r.line) > 0 {
			r.newline()
		}
	case 'J':
		if n == 2 || n == 3 {
			r.done.Reset()
			r.line, r.at = r.line[:0], 0
		}
	}
}
