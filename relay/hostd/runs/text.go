package runs

import (
	"strings"
	"unicode/utf8"
)

// maxText is the maximum size of the text of an output event, in bytes.
const maxText = 32 << 10

// decodeText returns the complete characters in b as text, and the number of bytes that they
// occupy. Each invalid byte becomes U+FFFD. If last is not set, an incomplete character at the end
// is not used.
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
