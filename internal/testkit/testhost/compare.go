package testhost

import (
	"encoding/json"
	"io"
	"math/big"
	"strings"
)

// decode parses one JSON text and preserves the notation of its numbers.
func decode(s string) (any, error) {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, &json.SyntaxError{Offset: d.InputOffset()}
	}
	return v, nil
}

// isEqual compares two JSON values. 1 and 1.0 are equal, and the order of members is ignored.
func isEqual(got, want any) bool { return match(got, want, false) }

// contains compares like isEqual, but the objects of got may have additional members.
func contains(got, want any) bool { return match(got, want, true) }

func match(got, want any, more bool) bool {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok || len(g) < len(w) || !more && len(g) != len(w) {
			return false
		}
		for k, wv := range w {
			if gv, ok := g[k]; !ok || !match(gv, wv, more) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for i := range w {
			if !match(g[i], w[i], more) {
				return false
			}
		}
		return true
	case json.Number:
		g, ok := got.(json.Number)
		return ok && sameNumber(string(g), string(w))
	}
	return got == want
}

func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	x, ok1 := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	return ok1 && ok2 && x.Cmp(y) == 0
}
