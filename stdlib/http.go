package stdlib

import (
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/stdlib/native"
	"github.com/concerto-lang/concerto/vm"
)

var httpNatives = native.Table{
	{"http", httpCall},
	{"http.__body", httpBody},
}

// httpCall performs an HTTP request. The arguments are (method, url, headers, body, timeout_ms),
// and the result is (status, headers, body).
func httpCall(a *vm.Args) (value.Slot, error) {
	r := &effect.HTTP{Method: a.String(0), URL: a.String(1), Timeout: a.Int(4)}
	a.Step(4 * a.Map(2).Len())
	a.Map(2).Each(func(k, v value.Slot) bool {
		r.Headers = append(r.Headers, effect.Header{Name: value.Text(k), Value: value.Text(v)})
		return true
	})
	if !a.Slot(3).IsNil() {
		body := a.String(3)
		r.Body = &body
	}
	return a.Ask(r, httpResponse)
}

func httpResponse(r effect.Result) (value.Slot, error) {
	response := r.(*effect.HTTPResponse)
	headers := value.NewMap(len(response.Headers))
	for _, h := range response.Headers {
		headers.SetString(h.Name, value.String(h.Value))
	}
	return value.Tuple(value.Int(response.Status), headers.Slot(), value.String(response.Body)), nil
}

func httpBody(a *vm.Args) (value.Slot, error) {
	body, headers, timeout := value.Flatten(a.Slot(0)), a.Slot(1), a.Int(2)
	if timeout <= 0 {
		return value.Nil, value.Faultf("request: timeout_ms is %d, it must be positive", timeout)
	}
	if body.IsNil() {
		return value.Tuple(value.Nil, native.MarkShared(headers)), nil
	}
	kind, text := "text/plain; charset=utf-8", body
	if body.Kind() != value.KindString {
		kind, text = "application/json", value.StringOwning(value.AppendJSONWithin(nil, body, a.TextBound()))
	}
	isSet := false
	headers.Map().Each(func(k, _ value.Slot) bool {
		isSet = isSet || strings.EqualFold(value.Text(k), "Content-Type")
		return true
	})
	if isSet {
		return value.Tuple(text, native.MarkShared(headers)), nil
	}
	all := value.Copy(headers)
	all.Map().SetString("Content-Type", value.String(kind))
	return value.Tuple(text, all), nil
}
