package runs

import (
	"strings"
	"unicode/utf8"
)

// maxText is how long the text of an output is at most, in bytes.
const maxText = 32 << 10

// whole is the text of output, whole characters of it, and how many bytes it stands for. An
// invalid byte is U+FFFD. What may be the beginning of a character waits for its rest, but
// for the last of all.
func whole(b []byte, last bool) (text string, used int) {
	var out strings.Builder
	for used < len(b) && out.Len() <= maxText-utf8.UTFMax {
		c, size := utf8.DecodeRune(b[used:])
		if c == utf8.RuneError && size == 1 && !last && !utf8.FullRune(b[used:]) {
			break
		}
		out.WriteRune(c)
		used += size
	}
	return out.String(), used
}
