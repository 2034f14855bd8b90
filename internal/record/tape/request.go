package tape

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// Request returns a request as canonical JSON. It omits the number of the object, the position in
// the program, and the contents of files.
func Request(r effect.Request) (json.RawMessage, error) {
	switch q := r.(type) {
	case *effect.AwaitEmit:
		plain := *q
		plain.From, plain.Schema, plain.Type = nil, nil, ""
		r = &plain
	case *effect.AskHost:
		plain := *q
		plain.From = nil
		r = &plain
	case *effect.AgentCall:
		plain := *q
		plain.Messages = effect.WithoutFileData(q.Messages)
		r = &plain
	case *effect.StreamOpen:
		plain := *q
		plain.Messages = effect.WithoutFileData(q.Messages)
		r = &plain
	}
	text, err := jsonwrite.Encode(r)
	if err != nil {
		return nil, fmt.Errorf("write a request of kind %s: %w", r.Kind(), err)
	}
	if _, numbered := r.(effect.Numbered); numbered {
		return jcs.CanonicalWithout(text, "id")
	}
	return jcs.Canonical(text)
}
