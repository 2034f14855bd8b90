package manifest

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// oauth reports a login that does not fit the other keys of the server.
func (r *reader) oauth(n *node, v any, transport, shown string) {
	o := n.child("oauth")
	if o == nil || o.kind != table {
		return
	}
	if transport != "http" {
		r.add(r.kinds.value.At(o.key, "%s has a login, but it is no server with a `url`", r.place(shown)).
			Hint("%s", r.inForm("remove `oauth`: a server that Concerto starts gets its secrets with `pass_env`")))
	}
	for _, key := range []string{"headers", "headers_env"} {
		headers := n.child(key)
		if headers == nil {
			continue
		}
		for _, h := range headers.children {
			if strings.EqualFold(h.name, "Authorization") {
				r.add(diag.ManifestConflict.At(o.key, "%s has both a login and the header `Authorization`", r.place(shown)).
					Label(h.key, "the header").Hint("keep one of them"))
			}
		}
	}
	values, _ := v.(map[string]any)["oauth"].(map[string]any)
	if o.child("client_secret_env") != nil && o.child("client_id") == nil {
		r.needsInLogin(o, shown, "client_id", "has `client_secret_env`, but no `client_id`")
	}
	if values["grant"] != "client_credentials" {
		return
	}
	for _, key := range []string{"client_id", "client_secret_env"} {
		if o.child(key) == nil && (key != "client_id" || o.child("client_secret_env") == nil) {
			r.needsInLogin(o, shown, key, "has the grant client_credentials, but no `"+key+"`")
		}
	}
}

// needsInLogin reports a key that a login requires.
func (r *reader) needsInLogin(o *node, shown, key, what string) {
	r.add(r.kinds.missing.At(o.key, "%s %s", r.place(shown+".oauth"), what).
		Hint("%s", r.inForm("add `"+key+" = "+row("mcp.*.oauth."+key).Example+"`")))
}

// checkScope returns an error if a text is not a scope of OAuth (RFC 6749, section 3.3).
func checkScope(text string) error {
	if text == "" || strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' || c == '"' || c == '\\' }) {
		return fmt.Errorf("a scope consists of printable ASCII characters, without spaces, quotes and backslashes")
	}
	return nil
}
