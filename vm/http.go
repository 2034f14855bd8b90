package vm

import (
	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/value"
)

// http(method, url, headers, body, timeout_ms) gives (status, headers, body).
func init() {
	performs["http"] = &performing{
		request: func(_ *task, a *Args) (effect.Request, error) {
			r := &effect.HTTP{Method: a.String(0), URL: a.String(1), Timeout: a.Int(4)}
			a.Map(2).Each(func(k, v value.Slot) bool {
				r.Headers = append(r.Headers, effect.Header{Name: value.Text(k), Value: value.Text(v)})
				return true
			})
			if !a.Slot(3).IsNil() {
				body := a.String(3)
				r.Body = &body
			}
			return r, nil
		},
		value: func(r effect.Result) (value.Slot, error) {
			response := r.(*effect.HTTPResponse)
			headers := value.NewMap(len(response.Headers))
			for _, h := range response.Headers {
				headers.SetString(h.Name, value.String(h.Value))
			}
			return value.Tuple(value.Int(response.Status), headers.Slot(), value.String(response.Body)), nil
		},
	}
}
