package continuity

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// AppendReply appends the line of a response to dst.
func AppendReply(dst []byte, r *effect.ExchangeReply) []byte {
	at := len(dst)
	o := jsonobject.Object{Bytes: append(dst, ResponsePrefix...)}
	o.Text("in_reply_to", r.InReplyTo)
	if r.AnswerTo != "" {
		o.Raw("answer_to", json.RawMessage(r.AnswerTo))
	}
	switch {
	case r.Error != "":
		o.Text("error", r.Error)
	case len(r.Value) == 0:
		o.Raw("value", json.RawMessage("null"))
	default:
		o.Raw("value", r.Value)
	}
	return ndjson.End(o.End(), at)
}

// ResponsePrefix is the beginning of every response.
const ResponsePrefix = `{"type":"` + hostmsg.Response + `"`

// Digest returns the hash of a line by which a keeper and a later process recognise it.
func Digest(line []byte) string {
	sum := sha256.Sum256(line)
	return hex.EncodeToString(sum[:16])
}

// MessageLine returns the line of a message whose payload is the given object.
func MessageLine(typ string, payload []byte) []byte {
	b := append([]byte(`{"type":`), value.AppendString(nil, typ)...)
	if len(payload) > len("{}") {
		return append(append(b, ','), payload[1:]...)
	}
	return append(b, '}')
}
