// Package jcs writes JSON in canonical form (RFC 8785), so that equal values have equal bytes:
// members are sorted by the UTF-16 of their names, there is no white space, and each string and
// number has only one form. It differs from the RFC in one respect: all digits of an integer are
// written, even if a double cannot represent the integer.
package jcs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Canonical returns a JSON text in canonical form. It returns an error if the text is not exactly
// one JSON value, or contains a number that is out of the range of a double. It returns a text that
// is already canonical without copying it.
func Canonical(text []byte) ([]byte, error) {
	if isCanonical(text) {
		return text, nil
	}
	return CanonicalWithout(text, "")
}

// CanonicalWithout is like Canonical, but omits the member of the outermost object that has the
// given name. It omits none if omit is "".
func CanonicalWithout(text []byte, omit string) ([]byte, error) {
	if out, ok := appendSorted(make([]byte, 0, len(text)), text, omit); ok {
		return out, nil
	}
	return encodeCanonical(text, omit)
}

// encodeCanonical decodes a text and encodes it in canonical form, without the top-level members
// named omit.
func encodeCanonical(text []byte, omit string) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("canonical JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("canonical JSON: more than one value")
	}
	if o, ok := v.(map[string]any); ok && omit != "" {
		delete(o, omit)
	}
	return appendValue(nil, v)
}

func appendValue(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return AppendText(b, v), nil
	case json.Number:
		return appendNumber(b, string(v))
	case []any:
		return appendArray(b, v)
	case map[string]any:
		return appendObject(b, v)
	}
	panic(fmt.Sprintf("jcs: a decoder made a %T", v))
}

func appendArray(b []byte, list []any) ([]byte, error) {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = appendValue(b, v); err != nil {
			return nil, err
		}
	}
	return append(b, ']'), nil
}

func appendObject(b []byte, o map[string]any) ([]byte, error) {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.SortFunc(names, compareUTF16)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendText(b, name), ':')
		var err error
		if b, err = appendValue(b, o[name]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// compareUTF16 compares texts by their UTF-16 encoding. The order is that of the bytes at the first
// difference, with one exception: UTF-16 encodes a character beyond U+FFFF by surrogates, which
// precede U+E000 to U+FFFF.
func compareUTF16(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] == b[i] {
			continue
		}
		if a[i] < 0xee || b[i] < 0xee {
			return int(a[i]) - int(b[i])
		}
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	}
	return len(a) - len(b)
}

// AppendText appends a string in canonical form.
func AppendText(b []byte, s string) []byte { return jsonwrite.Canonical.Append(b, s) }

// appendNumber appends a number in the form of ECMAScript. It writes all digits of an integer.
func appendNumber(b []byte, n string) ([]byte, error) {
	if !strings.ContainsAny(n, ".eE") {
		if n == "-0" {
			n = "0"
		}
		return append(b, n...), nil
	}
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return nil, fmt.Errorf("canonical JSON: number %s: %w", n, err)
	}
	size := math.Abs(f)
	switch {
	case f == 0:
		return append(b, '0'), nil
	case size >= 1e-6 && size < 1e21:
		return strconv.AppendFloat(b, f, 'f', -1, 64), nil
	}
	// Go writes an exponent with at least two digits, ECMAScript without leading zeros.
	text := strconv.FormatFloat(f, 'e', -1, 64)
	digits, exponent, _ := strings.Cut(text, "e")
	return append(b, digits+"e"+exponent[:1]+strings.TrimLeft(exponent[1:], "0")...), nil
}
