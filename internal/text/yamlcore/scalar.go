// Package yamlcore converts YAML scalars to values according to the core schema of YAML 1.2. In
// this schema `yes`, `017` and dates are texts.
package yamlcore

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Scalar returns the value of a scalar. The value is nil, a bool, an int64, a json.Number for an
// integer that does not fit into 64 bits, a float64 or a string.
func Scalar(n *yaml.Node) any {
	text := n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		return text
	}
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	}
	if v, ok := plainInteger(text); ok {
		return v
	}
	if isDecimal(text) {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			return f
		}
	}
	return text
}

// plainInteger parses integers such as 12, -3, 0x1F and 0o17. An integer that does not fit into 64
// bits becomes a json.Number.
func plainInteger(text string) (any, bool) {
	for prefix, base := range map[string]int{"0x": 16, "0o": 8} {
		if digits, ok := strings.CutPrefix(text, prefix); ok {
			i, err := strconv.ParseInt(digits, base, 64)
			return i, err == nil && digits[0] != '-' && digits[0] != '+'
		}
	}
	digits := strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(text, "+"), "-"), "0")
	if strings.Trim(text[len(text)-len(digits):], "0123456789") != "" || strings.HasPrefix(text, "+-") || strings.Trim(text, "+-") == "" {
		return nil, false
	}
	if digits == "" {
		digits = "0"
	}
	if text[0] == '-' && digits != "0" {
		digits = "-" + digits
	}
	if i, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return i, true
	}
	return json.Number(digits), true
}

// isDecimal reports whether a text matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?.
func isDecimal(text string) bool {
	rest := strings.TrimLeft(text, "+-")
	if len(text)-len(rest) > 1 {
		return false
	}
	mantissa, exponent, hasExponent := strings.Cut(strings.ReplaceAll(rest, "E", "e"), "e")
	whole, fraction, hasPoint := strings.Cut(mantissa, ".")
	digits := func(s string) bool { return strings.Trim(s, "0123456789") == "" }
	if !digits(whole) || !digits(fraction) || whole == "" && fraction == "" || whole == "" && !hasPoint {
		return false
	}
	if sign := strings.TrimLeft(exponent, "+-"); hasExponent {
		return sign != "" && len(exponent)-len(sign) <= 1 && digits(sign)
	}
	return true
}
