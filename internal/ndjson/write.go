package ndjson

import "bytes"

// Append adds the JSON text to dst as one line. JSON allows line breaks only
// between its tokens; they become blanks, so that any valid text becomes one
// line.
func Append(dst, text []byte) []byte {
	at := len(dst)
	dst = append(dst, text...)
	flatten(dst[at:])
	return append(dst, '\n')
}

func flatten(b []byte) {
	for {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			break
		}
		b[i] = ' '
		if i > 0 && b[i-1] == '\r' {
			b[i-1] = ' '
		}
		b = b[i+1:]
	}
}
