package mcpport

import (
	"context"
	"encoding/json"
	"net"
	"strings"
)

// Offer is a tool that Concerto's MCP server offers. Output is the JSON Schema of its result, which
// must be an object, or nil. An error that Call returns is reported as the tool's error.
type Offer struct {
	Name        string
	Description string
	Parameters  json.RawMessage
	Output      json.RawMessage
	// Calls identifies the target of Call, if the target may change while the name remains the
	// same.
	Calls string
	Call  func(ctx context.Context, args json.RawMessage, report func(Progress)) (Result, error)
}

// Result is the result of a call: a text, and a JSON value if the value is an object.
type Result struct {
	Text   string
	Object json.RawMessage
}

// Progress is a progress report of a call. Done increases with each report. Total is 0 if it is
// unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// Offers are the tools that a server offers: the fixed ones, and the latest list of the changing
// ones. Clients are notified of changes.
type Offers struct {
	Fixed   []Offer
	Begin   []Offer        // first list of the changing tools
	Changes <-chan []Offer // receives each new list of the changing tools; nil if the list never changes
}

type clientKey struct{}

// WithClient returns a context for the call of an offer, which contains the name of the client.
func WithClient(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clientKey{}, name)
}

// Client returns the name that the client has reported, or "". ctx must be the context of a call of
// an offer.
func Client(ctx context.Context) string {
	name, _ := ctx.Value(clientKey{}).(string)
	return name
}

// Listen specifies where tools are offered over streamable HTTP, and to which clients.
type Listen struct {
	Address string   // host:port; without a host, the loopback interface is used
	Token   string   // bearer token that clients must send; "" means that no token is required
	Origins []string // origins of web pages that may send requests, in addition to those on the loopback host
}

// Loopback adds the loopback host to an address without a host, so that a port alone is not open to
// other machines.
func Loopback(address string) string {
	if !strings.Contains(address, ":") {
		return net.JoinHostPort("127.0.0.1", address)
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host == "" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// IsLoopback reports whether only this machine can reach the address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(Loopback(address))
	return err == nil && IsLoopbackHost(host)
}

// IsLoopbackHost reports whether a name or an IP address is that of this machine.
func IsLoopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
