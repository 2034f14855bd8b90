package ir

import (
	"bytes"
	"math"
	"strconv"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

func inf(sign int) float64 { return math.Inf(sign) }
func nan() float64         { return math.NaN() }

// appendFloat appends a Float in a form from which reading restores the same value: the shortest
// sequence of digits, always with a point or an exponent. A value that JSON numbers cannot
// represent is written as "inf", "-inf" or "nan".
func appendFloat(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"nan"`...)
	case math.IsInf(f, 1):
		return append(b, `"inf"`...)
	case math.IsInf(f, -1):
		return append(b, `"-inf"`...)
	}
	start := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[start:], ".e") {
		b = append(b, ".0"...)
	}
	return b
}

// FloatJSON returns a Float as JSON in the form that IR files use. A value that JSON numbers cannot
// represent becomes null, as in the language's conversion to JSON.
func FloatJSON(f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return []byte("null")
	}
	return appendFloat(nil, f)
}

// StringJSON returns a String as JSON in the form that IR files use.
func StringJSON(s string) []byte { return jsonwrite.Plain.Append(nil, s) }
