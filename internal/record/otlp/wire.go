package otlp

import "encoding/binary"

// wireType is the encoding of a field's value, in the lowest three bits of its tag.
// Source: https://protobuf.dev/programming-guides/encoding/#structure
type wireType uint64

const (
	wireVarint  wireType = 0
	wireFixed64 wireType = 1
	wireBytes   wireType = 2
	wireFixed32 wireType = 5
)

func appendTag(b []byte, number int, t wireType) []byte {
	return binary.AppendUvarint(b, uint64(number)<<3|uint64(t))
}

func appendVarint(b []byte, number int, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, number, wireVarint), v)
}

func appendFixed64(b []byte, number int, v uint64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, number, wireFixed64), v)
}

func appendBytes[T ~string | ~[]byte](b []byte, number int, v T) []byte {
	return append(binary.AppendUvarint(appendTag(b, number, wireBytes), uint64(len(v))), v...)
}

// wireField is the value of a field of a message.
type wireField struct {
	number uint64
	bytes  []byte
}

// fields returns the varints and the byte strings of a message by their numbers. It ignores the
// rest of a message after a field that cannot be read.
func fields(b []byte) map[int]wireField {
	out := map[int]wireField{}
	for {
		tag, size := binary.Uvarint(b)
		if size <= 0 {
			return out
		}
		b = b[size:]
		var f wireField
		length := uint64(0) // of what follows in b
		switch wireType(tag & 7) {
		case wireVarint:
			f.number, size = binary.Uvarint(b)
			length = uint64(size)
		case wireFixed64:
			length = 8
		case wireFixed32:
			length = 4
		case wireBytes:
			length, size = binary.Uvarint(b)
			b = b[max(size, 0):]
		default: // a group, or no tag
			return out
		}
		if size <= 0 || length > uint64(len(b)) {
			return out
		}
		if wireType(tag&7) == wireBytes {
			f.bytes = b[:length]
		}
		out[int(tag>>3)] = f
		b = b[length:]
	}
}
