package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
)

// request is a request of a client's that is being answered.
type request struct {
	ctx    context.Context
	srv    *Server
	client *client
	http   bool     // it came over HTTP or WebSocket
	after  []func() // done once it is answered
}

// method is a method that a client may call.
type method struct {
	form  form
	waits bool // it may take its time: it is answered beside others
	makes bool // it creates a session
	do    func(r *request, params json.RawMessage) (any, error)
}

// takes makes a method of a function of its parameters.
func takes[P any](do func(*request, *P) (any, error)) method {
	f := formOf(reflect.TypeFor[P]())
	return method{form: f, do: func(r *request, params json.RawMessage) (any, error) {
		p := new(P)
		if err := f.read(params, p); err != nil {
			return nil, err
		}
		return do(r, p)
	}}
}

// slow marks a method that may take long.
func (m method) slow() method {
	m.waits = true
	return m
}

// making marks a method that creates a session.
func (m method) making() method {
	m.waits, m.makes = true, true
	return m
}

type nothing struct{}

// methods are the methods for an initialized client.
var methods map[string]method

func init() {
	methods = map[string]method{
		"tools/register":       takes(registerTools),
		"tools/unregister":     takes(unregisterTools),
		"tools/list":           takes(listTools),
		"tools/call":           takes(callTool).slow(),
		"sessions/create":      takes(createSession).making(),
		"sessions/get":         takes(getSession),
		"sessions/list":        takes(listSessions),
		"sessions/cancel":      takes(cancelSession).slow(),
		"sessions/subscribe":   takes(subscribeSession),
		"sessions/unsubscribe": takes(unsubscribeSession),
		"sessions/events":      takes(sessionEvents).slow(),
		"audit/query":          takes(queryAudit).slow(),
		"ping":                 takes(func(*request, *nothing) (any, error) { return nothing{}, nil }),
		"shutdown": takes(func(r *request, _ *nothing) (any, error) {
			r.after = append(r.after, func() { r.srv.want("a client asked for it") })
			return nothing{}, nil
		}),
	}
}

// receive takes a message of the client's. A request is answered by reply, once, maybe
// later; a notification and a response are not. It waits for nothing. ctx is the
// request's: it ends with the connection only where the answer would be lost.
func (c *client) receive(ctx context.Context, m *message, http bool, reply func([]byte)) {
	switch m.kind() {
	case isResponse:
		c.answered(m)
		return
	case isNotification:
		c.notified(m)
		return
	}
	x, known := methods[*m.Method]
	switch {
	case *m.Method == "initialize":
		reply(response(m.ID, nil, failure(codeInvalid, "this client has initialized already")))
		return
	case !known:
		reply(response(m.ID, nil, failure(codeMethod, "there is no method '%s'", *m.Method)))
		return
	}
	ctx, cancel := context.WithCancelCause(ctx)
	id := string(m.ID)
	if err := c.begin(id, cancel); err != nil {
		cancel(nil)
		reply(response(m.ID, nil, err))
		return
	}
	r := &request{ctx: ctx, srv: c.srv, client: c, http: http}
	answer := func() {
		defer cancel(nil)
		result, err := r.do(x, m.Params)
		c.end(id)
		reply(response(m.ID, result, err))
		for _, f := range r.after {
			f()
		}
	}
	if !x.waits {
		answer()
		return
	}
	c.busy.Add(1)
	if x.makes {
		c.making.Add(1)
	}
	go func() {
		defer c.busy.Done()
		if x.makes {
			defer c.making.Done()
		}
		answer()
	}()
}

// do answers a request. A panic is a bug of ours, and this request's alone.
func (r *request) do(x method, params json.RawMessage) (result any, failed *Error) {
	defer func() {
		if p := recover(); p != nil {
			r.srv.log("error", fmt.Sprintf("this is our bug, not yours: %v\n%s", p, debug.Stack()))
			result, failed = nil, failure(codeInternal, "this is a bug of concerto's: %v", p)
		}
	}()
	result, err := x.do(r, params)
	var taken *errCancelled
	var own *Error
	switch {
	case errors.As(context.Cause(r.ctx), &taken):
		r.after = nil
		return nil, failure(codeCancelled, "%s", taken.Error())
	case errors.As(context.Cause(r.ctx), &own) && own.Code == codeStopping:
		return nil, own
	case err == nil:
		return result, nil
	case errors.As(err, &own):
		return nil, own
	}
	return nil, failure(codeInternal, "%v", err)
}
