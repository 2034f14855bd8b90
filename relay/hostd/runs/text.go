package runs

import (
	"strings"
	"unicode/utf8"
)

// maxText is the maximum size of the text of an output event, in bytes.
const maxText = 32 << 10

// decodeText returns whole characters of b as text, and the number of bytes they consume. An
// invalid byte becomes U+FFFD. An incomplete character at the end stays unused, unless last is set.
func decodeText(b []byte, last bool) (text string, used int) {
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
