package ndjson

import "bytes"

// Append appends the JSON text to dst as one line. JSON allows line breaks only between its tokens;
// they become spaces, so that any valid text becomes one line.
func Append(dst, text []byte) []byte {
	return End(append(dst, text...), len(dst))
}

// End is Append for a JSON text that is already in b, from offset at on.
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
