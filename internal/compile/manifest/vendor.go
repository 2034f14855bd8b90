package manifest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/compile/diag"
)

// The transports of vendors' agents.
const (
	claudeCode = "claude-code"
	codex      = "codex"
	acp        = "acp"
)

var vendors = []string{claudeCode, codex, acp}

// unsafeModes contains the modes in which an agent does not ask for permission.
var unsafeModes = []string{"bypassPermissions", "yolo"}

// claudeModes contains the other modes of Claude Code.
var claudeModes = []string{"default", "acceptEdits", "plan"}

// claudeSettings contains the sources of Claude Code's settings.
var claudeSettings = []string{"user", "project", "local"}

// vendorDefaults contains the defaults for hosts that run a vendor's agent: the agent writes JSON
// messages, and unanswered requests are denied. The second default applies to all hosts with
// permissions.
var vendorDefaults = [...]keyDefault{{"output_format", "json"}, {"approval_default", "no"}}

type keyDefault struct{ name, value string }

// checkVendor checks the keys of a host that depend on its transport, and adds defaults. It returns
// the transport.
func (r *reader) checkVendor(h *Host, n *node, v any, shown string) (transport string) {
	var keys struct {
		Transport string   `json:"transport"`
		Mode      string   `json:"mode"`
		Unsafe    bool     `json:"unsafe_mode"`
		Settings  []string `json:"settings"`
	}
	// Values of wrong types have been reported and are not in Config.
	_ = json.Unmarshal(h.Config, &keys)
	if transport = keys.Transport; transport == "" {
		transport = "stdio"
	}
	for _, c := range n.children {
		k := row("hosts.*." + c.name)
		if isTable := c.kind == table; isTable && len(namesIn("hosts.*."+c.name)) > 0 {
			continue
		}
		if k != nil && k.Only != nil && !slices.Contains(k.Only, transport) {
			r.add(diag.ManifestConflict.At(c.key, "[%s] has transport `%s`, which does not support `%s`", shown, transport, c.name).
				Hint("remove it: only these transports support it: %s", strings.Join(k.Only, ", ")))
		}
	}
	if !slices.Contains(vendors, transport) {
		if n.child("permissions") != nil {
			r.addDefaults(h, n, vendorDefaults[1:])
		}
		return transport
	}
	switch mode := n.child("mode"); {
	case mode == nil:
	case slices.Contains(unsafeModes, keys.Mode) && !keys.Unsafe:
		r.add(diag.ManifestValue.At(mode.value, "mode `%s` lets the agent act without approval", keys.Mode).
			Hint("add `unsafe_mode = true` if this is intended"))
	case transport == claudeCode && keys.Mode != "" && !slices.Contains(claudeModes, keys.Mode) && !slices.Contains(unsafeModes, keys.Mode):
		r.add(diag.ManifestValue.At(mode.value, "unknown mode \"%s\"", keys.Mode).Hint("the modes are %s", strings.Join(claudeModes, ", ")))
	}
	for _, s := range keys.Settings {
		if transport == claudeCode && !slices.Contains(claudeSettings, s) {
			r.add(diag.ManifestValue.At(n.child("settings").value, "unknown settings \"%s\"", s).Hint("the settings are %s", strings.Join(claudeSettings, ", ")))
		}
	}
	r.addDefaults(h, n, vendorDefaults[:])
	return transport
}

// addDefaults adds the keys that are not set.
func (r *reader) addDefaults(h *Host, n *node, keys []keyDefault) {
	var assumed []string
	add := func(member string) { h.Config = append(bytes.TrimSuffix(h.Config, []byte("}")), ","+member+"}"...) }
	for _, key := range keys {
		if n.child(key.name) == nil {
			assumed = append(assumed, `"`+key.name+`"`)
			add(`"` + key.name + `":"` + key.value + `"`)
		}
	}
	if len(assumed) > 0 { // an assumed value was not set by the user, so a person is asked first
		add(`"assumed":[` + strings.Join(assumed, ",") + `]`)
	}
}
