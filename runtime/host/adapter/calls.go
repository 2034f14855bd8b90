//go:build !js

package adapter

import "slices"

// CodexCommandKind returns the kind of a command of Codex, which has divided it into actions.
func CodexCommandKind(actions []string) string {
	if len(actions) > 0 && !slices.ContainsFunc(actions, func(x string) bool { return !slices.Contains(codexReads, x) }) {
		return "read"
	}
	return "execute"
}

// Subject returns a summary of the arguments of a call, or "".
func Subject(args []byte) string { return subject(args) }
