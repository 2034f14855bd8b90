package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/server/auth"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
)

// Routes returns the routes of the server and those of Config.More.
func (s *Server) Routes() []auth.Route {
	return slices.Concat([]auth.Route{
		{Method: "GET", Path: "/health", Right: auth.Open, Handle: s.health},
		{Method: "GET", Path: "/ws/host", Right: auth.Open, Handle: s.machineSocket},
		{Method: "GET", Path: "/ws/app", Right: auth.Read, Handle: s.appSocket},
		{Method: "GET", Path: "/events", Right: auth.Read, Handle: s.events},
		{Method: "GET", Path: "/runs", Right: auth.Read, Handle: s.runs},
		{Method: "GET", Path: "/sessions", Right: auth.Read, Handle: s.runs},
		{Method: "GET", Path: "/runs/{run}", Right: auth.Read, Handle: s.run},
		{Method: "GET", Path: "/sessions/{run}", Right: auth.Read, Handle: s.run},
		{Method: "GET", Path: "/runs/{run}/events", Right: auth.Read, Handle: s.runEvents},
		{Method: "GET", Path: "/sessions/{run}/events", Right: auth.Read, Handle: s.runEvents},
		{Method: "GET", Path: "/runs/{run}/messages", Right: auth.Read, Handle: s.messages},
		{Method: "GET", Path: "/sessions/{run}/messages", Right: auth.Read, Handle: s.messages},
		{Method: "POST", Path: "/runs/{run}/input", Right: auth.Input, Handle: s.postInput},
		{Method: "POST", Path: "/runs/{run}/stop", Right: auth.Stop, Handle: s.postStop},
		{Method: "POST", Path: "/runs/{run}/permissions/{request}", Right: auth.Decide, Handle: s.postDecision},
		{Method: "GET", Path: "/inbox", Right: auth.Read, Handle: s.inbox},
		historyRoute(s),
		{Method: "POST", Path: "/rpc", Right: auth.AskRun, Handle: s.postRPC},
		{Method: "GET", Path: "/hosts", Right: auth.ReadMachines, Handle: s.machineList},
	}, sealRoutes(s), s.config.More)
}

func (s *Server) mux() http.Handler {
	mux := http.NewServeMux()
	for _, row := range s.Routes() {
		mux.HandleFunc(row.Method+" "+row.Path, func(w http.ResponseWriter, r *http.Request) { s.serve(row, w, r) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, pattern := mux.Handler(r); pattern == "" || !isClean(r) {
			noRoute(mux, w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isClean reports whether the path of a request is in its shortest form. http.ServeMux redirects
// other paths.
func isClean(r *http.Request) bool { return path.Clean(r.URL.EscapedPath()) == r.URL.EscapedPath() }

// noRoute responds that the path does not exist, or that it does not support the request's method.
func noRoute(mux *http.ServeMux, w http.ResponseWriter, r *http.Request) {
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		other := *r
		other.Method = method
		if _, pattern := mux.Handler(&other); pattern != "" && isClean(r) {
			allowed = append(allowed, method)
		}
	}
	if allowed != nil {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		httpguard.Fail(w, &Failure{Code: protocol.BadMessage, Why: fmt.Sprintf("%s takes %s", r.URL.Path, strings.Join(allowed, ", ")), Status: http.StatusMethodNotAllowed})
		return
	}
	httpguard.Fail(w, &Failure{Code: "unknown_path", Why: "there is nothing at this path", Status: http.StatusNotFound})
}

// serve checks the caller's right and calls the handler.
func (s *Server) serve(row auth.Route, w http.ResponseWriter, r *http.Request) {
	if row.Right == auth.Open {
		row.Handle(w, r, nil)
		return
	}
	if row.Machine && r.URL.Query().Has("host_id") {
		if err := s.config.Auth.MachineRequest(r.Context(), r); err != nil {
			httpguard.Fail(w, s.failed(err, protocol.Unauthorized))
			return
		}
		row.Handle(w, r, nil)
		return
	}
	who, err := s.config.Auth.Authenticate(r)
	if err == nil {
		err = s.may(r.Context(), who, row.Right, r.PathValue("run"))
	}
	if err != nil {
		httpguard.Fail(w, err)
		return
	}
	row.Handle(w, r, who)
}

// may returns nil if the caller has a right. Otherwise it writes an audit record and returns an
// error.
func (s *Server) may(ctx context.Context, who *auth.Identity, right auth.Right, run string) error {
	err := who.Need(right)
	if err != nil {
		s.config.Auth.Refused(ctx, who, right, run)
	}
	return err
}

// healthTimeout is the time limit for checking the database. Load balancers wait only a few
// seconds.
const healthTimeout = 2 * time.Second

func (s *Server) health(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	ctx, cancel := context.WithTimeout(r.Context(), healthTimeout)
	defer cancel()
	code, status := http.StatusOK, "ok"
	if err := s.store.Ping(ctx); err != nil {
		s.log.Warn("health: the database does not answer", "error", err)
		code, status = http.StatusServiceUnavailable, "database"
	}
	httpguard.Answer(w, code, map[string]string{"name": "concerto-relay", "version": s.config.Version, "status": status})
}

// read reads the body of a request.
func read(w http.ResponseWriter, r *http.Request) ([]byte, *Failure) {
	return readAtMost(w, r, protocol.MaxFrame)
}

func readAtMost(w http.ResponseWriter, r *http.Request, most int64) ([]byte, *Failure) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	var big *http.MaxBytesError
	switch {
	case errors.As(err, &big):
		return nil, refuse(protocol.TooLarge, "the body exceeds %d bytes", most)
	case err != nil:
		return nil, refuse(protocol.BadMessage, "the body could not be read")
	}
	return body, nil
}
