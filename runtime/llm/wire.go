package llm

import "github.com/concerto-lang/concerto/internal/data/effect"

// wire encodes the requests and decodes the responses of one provider's API. It has no connection
// and no state; remote sends the requests.
type wire interface {
	Capabilities() Capabilities
	// path returns the path of a request, relative to the root of the endpoint.
	path(req *Request, stream bool) string
	// body returns the value that is encoded as the JSON body of the request. w is the schema of
	// the reply, or nil.
	body(req *Request, w *replySchema, stream bool) any
	// read decodes a whole response. The error is a *Failure, or an error of decoding.
	read(answer []byte, w *replySchema) (*effect.AgentReply, error)
	// assemble returns an assembly for a streamed response.
	assemble(w *replySchema) assembly
	// refusal decodes the body of a response with an error status.
	refusal(body []byte) refusal
}

// assembly assembles a reply from the events of a streamed response.
type assembly interface {
	// event decodes the data of one event and returns the text that the event adds to the reply.
	// The error is a *Failure, or an error of decoding.
	event(data []byte) (text string, err error)
	// reply returns the whole reply. ok is false if the stream broke off.
	reply() (r *effect.AgentReply, ok bool)
}

// beginner is an assembly whose first events do not belong to the reply.
type beginner interface {
	// hasBegun reports whether the model has begun to reply.
	hasBegun() bool
}

// framing is the way in which the events of a streamed response are separated.
type framing uint8

const (
	framedSSE    framing = iota // server-sent events
	framedNDJSON                // one JSON object on each line
	framedAWS                   // AWS's event stream
)
