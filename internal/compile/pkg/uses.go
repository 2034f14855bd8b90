package pkg

import (
	"slices"
	"strings"
)

// UseKinds lists the kinds of uses in their order.
var UseKinds = []string{"read", "write", "net", "env", "run", "model", "host", "mcp"}

// Use is something outside of the program that the code of a package may use: a kind, with a target
// after a colon, such as `net:api.example.com`, or without one for any target.
type Use string

// ParseUse parses a use. ok is false for an unknown kind or an empty target.
func ParseUse(text string) (u Use, ok bool) {
	kind, target, hasTarget := strings.Cut(text, ":")
	return Use(text), slices.Contains(UseKinds, kind) && (!hasTarget || target != "") && !strings.ContainsAny(text, "\n\r")
}

// Kind returns the kind of the use.
func (u Use) Kind() string { kind, _, _ := strings.Cut(string(u), ":"); return kind }

// Target returns the target of the use. ok is false if the use means any target.
func (u Use) Target() (target string, ok bool) { _, target, ok = strings.Cut(string(u), ":"); return }

// Covers reports whether u includes v.
func (u Use) Covers(v Use) bool {
	_, hasTarget := u.Target()
	return u == v || !hasTarget && u.Kind() == v.Kind()
}

// NormalizeUses returns uses sorted and without those that others cover.
func NormalizeUses(all []Use) []Use {
	out := []Use{}
	for _, u := range all {
		isCovered := func(o Use) bool { return o != u && o.Covers(u) }
		if !slices.ContainsFunc(all, isCovered) && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	slices.Sort(out)
	return out
}

// NewUses returns the uses in now that none in before covers.
func NewUses(before, now []Use) []Use {
	out := []Use{}
	for _, u := range NormalizeUses(now) {
		if !slices.ContainsFunc(before, func(o Use) bool { return o.Covers(u) }) {
			out = append(out, u)
		}
	}
	return out
}
