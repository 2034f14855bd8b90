package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"sync"
)

// request is a running request of a client.
type request struct {
	ctx    context.Context
	srv    *Server
	client *client
	http   bool     // the request arrived over HTTP or WebSocket
	after  []func() // functions to call after the response was sent
}

// method is a method that a client may call.
type method struct {
	form  form
	waits bool // the method may wait, so each request runs on its own goroutine
	makes bool // the method creates a session
	do    func(r *request, params json.RawMessage) (any, error)
}

// methodOf returns a method that decodes the parameters and calls do.
func methodOf[P any](do func(*request, *P) (any, error)) method {
	f := formOf(reflect.TypeFor[P]())
	return method{form: f, do: func(r *request, params json.RawMessage) (any, error) {
		p := new(P)
		if err := f.read(params, p); err != nil {
			return nil, err
		}
		return do(r, p)
	}}
}

// slow returns the method with the attribute waits.
func (m method) slow() method {
	m.waits = true
	return m
}

// making returns the method with the attribute makes.
func (m method) making() method {
	m.waits, m.makes = true, true
	return m
}

type nothing struct{}

// methods returns the methods that an initialized client may call.
var methods = sync.OnceValue(func() map[string]method {
	return map[string]method{
		"tools/register":       methodOf(registerTools),
		"tools/unregister":     methodOf(unregisterTools),
		"tools/list":           methodOf(listTools),
		"tools/call":           methodOf(callTool).slow(),
		"sessions/create":      methodOf(createSession).making(),
		"sessions/get":         methodOf(getSession),
		"sessions/list":        methodOf(listSessions),
		"sessions/cancel":      methodOf(cancelSession).slow(),
		"sessions/subscribe":   methodOf(subscribeSession),
		"sessions/unsubscribe": methodOf(unsubscribeSession),
		"sessions/events":      methodOf(sessionEvents).slow(),
		"audit/query":          methodOf(queryAudit).slow(),
		"ping":                 methodOf(func(*request, *nothing) (any, error) { return nothing{}, nil }),
		"shutdown": methodOf(func(r *request, _ *nothing) (any, error) {
			r.after = append(r.after, func() { r.srv.requestStop("requested by a client") })
			return nothing{}, nil
		}),
	}
})

// receive handles a message of the client without waiting. For a request it calls reply exactly
// once, possibly later; for a notification or a response it does not call reply. http is true for
// HTTP and WebSocket. ctx is cancelled with the connection only if the response could not be
// delivered later.
func (c *client) receive(ctx context.Context, m *message, http bool, reply func([]byte)) {
	switch m.kind() {
	case isResponse:
		c.handleResponse(m)
		return
	case isNotification:
		c.handleNotification(m)
		return
	}
	x, found := methods()[*m.Method]
	switch {
	case *m.Method == "initialize":
		reply(response(m.ID, nil, failure(codeInvalid, "the client is already initialized")))
		return
	case !found:
		reply(response(m.ID, nil, failure(codeMethod, "unknown method '%s'", *m.Method)))
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

// do performs a request. It returns a panic of the method as an error of this request.
func (r *request) do(x method, params json.RawMessage) (result any, failed *Error) {
	defer func() {
		if p := recover(); p != nil {
			r.srv.log("error", fmt.Sprintf("internal error: %v\n%s", p, debug.Stack()))
			result, failed = nil, failure(codeInternal, "internal error: %v", p)
		}
	}()
	result, err := x.do(r, params)
	var cancelled *errCancelled
	var own *Error
	switch {
	case errors.As(context.Cause(r.ctx), &cancelled):
		r.after = nil
		return nil, failure(codeCancelled, "%s", cancelled.Error())
	case errors.As(context.Cause(r.ctx), &own) && own.Code == codeStopping:
		return nil, own
	case err == nil:
		return result, nil
	case errors.As(err, &own):
		return nil, own
	}
	return nil, failure(codeInternal, "%v", err)
}
