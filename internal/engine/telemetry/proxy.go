package telemetry

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"github.com/concerto-lang/concerto/internal/record/otlp"
)

// maxForwarded is the maximum size of a request that the proxy forwards, in bytes.
const maxForwarded = 16 << 20

// proxy accepts exports from vendors' agents on a loopback address, adds the headers for the
// collector, and forwards them. So the agents do not receive the collector's keys.
type proxy struct {
	start  sync.Once
	server *http.Server
	url    string // with the token that an export must name; "" if the proxy could not start
	failed error  // why it could not start
}

// address starts the proxy, and returns its URL.
func (p *proxy) address(c *otlp.Config) string {
	p.start.Do(func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			p.failed = fmt.Errorf("hosts export nothing: %w", err)
			return
		}
		token := rand.Text()
		p.url = "http://" + l.Addr().String() + "/" + token
		p.server = &http.Server{Handler: forwarder(c, "/"+token)}
		go func() { _ = p.server.Serve(l) }() // ends with Close
	})
	return p.url
}

func (p *proxy) close() {
	p.start.Do(func() {}) // no agent starts it from now on
	if p.server != nil {
		_ = p.server.Close()
	}
}

// forwarder returns the handler of a proxy, whose paths begin with prefix.
func forwarder(c *otlp.Config, prefix string) http.Handler {
	clients := map[*otlp.Endpoint]*http.Client{}
	for _, e := range c.Endpoints {
		if e != nil {
			clients[e] = e.Client()
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := c.EndpointAt(strings.TrimPrefix(r.URL.Path, prefix))
		if e == nil || !strings.HasPrefix(r.URL.Path, prefix+"/") {
			http.NotFound(w, r)
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForwarded))
		if err != nil {
			http.Error(w, "the request cannot be read", http.StatusRequestEntityTooLarge)
			return
		}
		forward, err := http.NewRequestWithContext(r.Context(), http.MethodPost, e.URL.String(), bytes.NewReader(body))
		if err != nil {
			http.Error(w, "the request cannot be forwarded", http.StatusBadGateway)
			return
		}
		for _, name := range []string{"Content-Type", "Content-Encoding"} {
			if v := r.Header.Get(name); v != "" {
				forward.Header.Set(name, v)
			}
		}
		for _, h := range e.Headers {
			forward.Header.Set(h[0], h[1])
		}
		reply, err := clients[e].Do(forward)
		if err != nil {
			http.Error(w, "the collector cannot be reached", http.StatusBadGateway)
			return
		}
		defer reply.Body.Close()
		for _, name := range []string{"Content-Type", "Retry-After"} {
			if v := reply.Header.Get(name); v != "" {
				w.Header().Set(name, v)
			}
		}
		w.WriteHeader(reply.StatusCode)
		_, _ = io.Copy(w, io.LimitReader(reply.Body, maxForwarded)) // the agent has disconnected
	})
}

// HostEnviron returns the variables with which a vendor's agent exports its own spans, as children
// of those of the run. host is the name of the declaration.
func (r *Run) HostEnviron(host, transport string) []string {
	c, out := r.t.config, []string{}
	base, isDirect := "", true
	for s, e := range c.Endpoints {
		if e == nil {
			continue
		}
		out = append(out, "OTEL_"+otlp.Signal(s).String()+"_EXPORTER=otlp")
		own, found := strings.CutSuffix(e.URL.String(), otlp.Signal(s).Path())
		if !found || base != "" && own != base || len(e.Headers) > 0 || e.TLS != nil {
			isDirect = false
		}
		base = own
	}
	if !isDirect {
		base = r.t.proxy.address(c)
	}
	if base == "" {
		return nil
	}
	protocol := "http/protobuf"
	for _, e := range c.Endpoints {
		if e != nil && e.JSON {
			protocol = "http/json"
		}
	}
	attributes := "concerto.run.id=" + url.PathEscape(r.options.ID) + ",concerto.host=" + url.PathEscape(host)
	out = append(out, "OTEL_EXPORTER_OTLP_ENDPOINT="+base, "OTEL_EXPORTER_OTLP_PROTOCOL="+protocol, "OTEL_RESOURCE_ATTRIBUTES="+attributes)
	if transport == "claude-code" {
		out = append(out, "CLAUDE_CODE_ENABLE_TELEMETRY=1", "CLAUDE_CODE_ENHANCED_TELEMETRY_BETA=1")
	}
	return out
}
