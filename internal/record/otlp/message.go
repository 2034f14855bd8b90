// Package otlp writes spans, metrics and log records in the OpenTelemetry protocol, version 1.10,
// and sends them to a collector by OTLP/HTTP, as protobuf or JSON
// (https://opentelemetry.io/docs/specs/otlp). It does not know what Concerto records; package
// telemetry does.
//
// The official SDK would add 9 MB to the program and one millisecond to its start, because its
// exporters link gRPC.
package otlp

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// message is a protobuf message of OTLP. Both encodings are written from it, so that each message
// is described once. A field with the zero value is left out by its author, unless it is part of a
// oneof.
type message []field

// field is a field of a message. Its value is one of the types below, a string, a bool, a float64,
// a message, or a list of messages, of fixed64 or of float64.
type field struct {
	number int
	name   string // in JSON
	value  any
}

type (
	id      []byte // hexadecimal in JSON, unlike other bytes
	fixed64 uint64
	fixed32 uint32
	integer int64 // int64 as varint; a string in JSON
	signed  int64 // sfixed64; a string in JSON
	number  int64 // enum or uint32 as varint; a number in JSON
)

// appendProto appends the message in the encoding of protobuf.
func (m message) appendProto(b []byte) []byte {
	for _, f := range m {
		switch v := f.value.(type) {
		case string:
			b = appendBytes(b, f.number, v)
		case id:
			b = appendBytes(b, f.number, v)
		case bool:
			n := uint64(0)
			if v {
				n = 1
			}
			b = appendVarint(b, f.number, n)
		case integer:
			b = appendVarint(b, f.number, uint64(v))
		case number:
			b = appendVarint(b, f.number, uint64(v))
		case fixed64:
			b = appendFixed64(b, f.number, uint64(v))
		case signed:
			b = appendFixed64(b, f.number, uint64(v))
		case fixed32:
			b = binary.LittleEndian.AppendUint32(appendTag(b, f.number, wireFixed32), uint32(v))
		case float64:
			b = appendFixed64(b, f.number, math.Float64bits(v))
		case message:
			b = v.appendField(b, f.number)
		case []message:
			for _, x := range v {
				b = x.appendField(b, f.number)
			}
		case []fixed64:
			b = binary.AppendUvarint(appendTag(b, f.number, wireBytes), uint64(8*len(v)))
			for _, x := range v {
				b = binary.LittleEndian.AppendUint64(b, uint64(x))
			}
		case []float64:
			b = binary.AppendUvarint(appendTag(b, f.number, wireBytes), uint64(8*len(v)))
			for _, x := range v {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
			}
		default:
			panic(fmt.Sprintf("otlp: field %s has a value of type %T", f.name, v))
		}
	}
	return b
}

// appendField appends the message as a field of another one: its tag, its length and its bytes.
func (m message) appendField(b []byte, n int) []byte {
	b = appendTag(b, n, wireBytes)
	const longest = binary.MaxVarintLen64
	start := len(b)
	b = append(b, make([]byte, longest)...)
	b = m.appendProto(b)
	size := len(b) - start - longest
	head := binary.AppendUvarint(b[start:start], uint64(size))
	return slices.Delete(b, start+len(head), start+longest)
}

// appendJSON appends the message as JSON: ids are hexadecimal, and integers of 64 bits are strings.
func (m message) appendJSON(b []byte) []byte {
	b = append(b, '{')
	for i, f := range m {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, f.name), ':')
		switch v := f.value.(type) {
		case string:
			b = appendText(b, v)
		case id:
			b = append(hex.AppendEncode(append(b, '"'), v), '"')
		case bool:
			b = strconv.AppendBool(b, v)
		case integer:
			b = append(strconv.AppendInt(append(b, '"'), int64(v), 10), '"')
		case signed:
			b = append(strconv.AppendInt(append(b, '"'), int64(v), 10), '"')
		case fixed64:
			b = append(strconv.AppendUint(append(b, '"'), uint64(v), 10), '"')
		case number:
			b = strconv.AppendInt(b, int64(v), 10)
		case fixed32:
			b = strconv.AppendUint(b, uint64(v), 10)
		case float64:
			b = appendFloat(b, v)
		case message:
			b = v.appendJSON(b)
		case []message:
			b = appendList(b, v, func(b []byte, x message) []byte { return x.appendJSON(b) })
		case []fixed64:
			b = appendList(b, v, func(b []byte, x fixed64) []byte {
				return append(strconv.AppendUint(append(b, '"'), uint64(x), 10), '"')
			})
		case []float64:
			b = appendList(b, v, appendFloat)
		}
	}
	return append(b, '}')
}

func appendList[T any](b []byte, list []T, add func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = add(b, x)
	}
	return append(b, ']')
}

func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string can be encoded
	}
	return append(b, text...)
}

// appendFloat appends a number as protobuf's JSON mapping does.
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}
