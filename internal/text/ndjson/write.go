package ndjson

import "bytes"

// Append appends a JSON text to dst as one line. JSON allows line breaks only between tokens, so
// Append replaces them by spaces.
func Append(dst, text []byte) []byte {
	return End(append(dst, text...), len(dst))
}

// End is Append for a JSON text that b already contains from offset at on.
func End(b []byte, at int) []byte {
	flatten(b[at:])
	return append(b, '\n')
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
