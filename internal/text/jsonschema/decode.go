package jsonschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits on the form of numbers. Without limits, a few characters such as 1e999999999 could
// represent a number that does not fit into memory.
const (
	largestExponent = 1000
	mostDigits      = 10_000
)

// Decode decodes one JSON text. Numbers are decoded as json.Number. Unlike encoding/json, Decode
// rejects texts that other decoders may read differently: duplicate names in an object, and invalid
// UTF-8.
func Decode(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, fmt.Errorf("not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := decodeValue(d, "")
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("more than one JSON value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder, path string) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('['):
		return decodeArray(d, path)
	case json.Delim('{'):
		return decodeObject(d, path)
	}
	if n, ok := t.(json.Number); ok && !reasonable(n) {
		return nil, Problem{path, fmt.Sprintf("the number %s is out of range", short(n))}
	}
	return t, nil
}

// Error makes Problem an error. The error of an invalid text thus contains the path of the invalid
// part.
func (p Problem) Error() string { return p.String() }

func decodeArray(d *json.Decoder, path string) (any, error) {
	list := []any{}
	for d.More() {
		v, err := decodeValue(d, item(path, len(list)))
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func decodeObject(d *json.Decoder, path string) (any, error) {
	o := map[string]any{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		name := t.(string)
		at := member(path, name)
		if _, twice := o[name]; twice {
			return nil, Problem{at, "given twice"}
		}
		if o[name], err = decodeValue(d, at); err != nil {
			return nil, err
		}
	}
	_, err := d.Token()
	return o, err
}

func reasonable(n json.Number) bool {
	_, exponent, found := strings.Cut(strings.ToLower(string(n)), "e")
	if !found || len(n) > mostDigits {
		return len(n) <= mostDigits
	}
	e, err := strconv.Atoi(exponent)
	return err == nil && e <= largestExponent && e >= -largestExponent
}

// member returns the path of an object's member.
func member(path, name string) string {
	plain := name != ""
	for i := range len(name) {
		c := name[i]
		plain = plain && (c == '_' || c == '-' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z')
	}
	switch {
	case !plain:
		return path + "[" + strconv.Quote(name) + "]"
	case path == "":
		return name
	}
	return path + "." + name
}

// item returns the path of an array's item.
func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
