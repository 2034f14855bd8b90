package llm

import "github.com/concerto-lang/concerto/internal/data/effect"

// wire is the form in which one provider's API takes requests and gives answers.
// It has no connection and no state; remote does the exchange.
type wire interface {
	Capabilities() Capabilities
	// path is where a request goes, below the connection's base.
	path(req *Request, stream bool) string
	// body is the request as JSON has it; w is the wanted schema, or nil.
	body(req *Request, w *wanted, stream bool) any
	// read reads a whole answer. Its error is a *Failure, or one of decoding.
	read(answer []byte, w *wanted) (*effect.AgentReply, error)
	// assemble begins to read a streamed answer.
	assemble(w *wanted) assembly
	// refusal reads the body of an answer with an error status.
	refusal(body []byte) refusal
}

// assembly puts a streamed answer together.
type assembly interface {
	// event reads the data of one event and gives the text that it adds to the
	// reply. Its error is a *Failure, or one of decoding.
	event(data []byte) (text string, err error)
	// reply is the whole reply; ok is false when the stream broke off before
	// its end.
	reply() (r *effect.AgentReply, ok bool)
}

// framing says how the events of a streamed answer are told apart.
type framing uint8

const (
	framedSSE    framing = iota // server-sent events
	framedNDJSON                // a JSON object a line
	framedAWS                   // AWS's event stream
)
