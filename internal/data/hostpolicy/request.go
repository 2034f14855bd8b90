package hostpolicy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// pathNames contains the members of tool arguments that name files, in the terms of the supported
// agents.
var pathNames = []string{
	"path", "paths", "file_path", "filePath", "filepath", "file_paths", "files", "file",
	"notebook_path", "absolute_path", "dir_path", "directory", "from", "to", "source",
	"destination", "old_path", "new_path", "grantRoot",
}

// patternNames contains the members of tool arguments that are patterns of files, or texts to
// search for.
var patternNames = []string{"pattern", "glob", "query", "include"}

// toolStdin is the tool of a request to send text to a running program.
const toolStdin = "stdin"

// ParseRequest parses the action of an approval request, a message of a host in JSON.
func ParseRequest(message []byte) Request {
	var m struct {
		Tool    string                     `json:"tool"`
		Kind    string                     `json:"kind"`
		Paths   []string                   `json:"paths"`
		Args    map[string]json.RawMessage `json:"args"`
		Network json.RawMessage            `json:"network"`
		Person  bool                       `json:"person"`
	}
	// If a member has another type, the action is not completely known, so no rule may allow it.
	q := Request{Opaque: json.Unmarshal(message, &m) != nil, Kind: m.Kind, Paths: m.Paths}
	q.Person = m.Person
	if m.Tool == toolStdin {
		q.Input = strings.Join(textsOf(m.Args["text"]), "\n")
		q.Opaque = q.Opaque || q.Input == ""
		return q
	}
	q.Command = commandText(m.Args["command"])
	if m.Kind == kindFetch || m.Kind == "" { // a changed input has no kind
		q.address = parseAddress(m.Network, m.Args["url"])
	}
	seen := map[string]bool{}
	for _, path := range q.Paths {
		seen[path] = true
	}
	for _, name := range pathNames {
		for _, path := range textsOf(m.Args[name]) {
			if !seen[path] {
				seen[path] = true
				q.Paths = append(q.Paths, path)
			}
		}
	}
	if cwd := textsOf(m.Args["cwd"]); len(cwd) == 1 {
		q.Dir = cwd[0]
	}
	q.Opaque = q.Opaque || !isHarmlessEnv(m.Args["env"])
	if areaOf[q.Kind] == reads {
		for _, name := range patternNames {
			q.Opaque = q.Opaque || slices.ContainsFunc(textsOf(m.Args[name]), mayLeaveDir)
		}
	}
	return q
}

// Limits of a request. Larger requests are not plausible, and deciding about them could take too
// long.
const (
	maxPaths      = 10_000
	maxText       = 256 << 10 // maximum of bytes in all paths, and in the command
	maxPathLength = 16 << 10
)

// isTooLarge reports whether a request exceeds a limit.
func (q *Request) isTooLarge() bool {
	n := len(q.Dir)
	for _, path := range q.Paths {
		n += len(path)
	}
	return len(q.Paths) > maxPaths || n > maxText || len(q.Command)+len(q.Input) > maxText || len(q.Dir) > maxPathLength ||
		slices.ContainsFunc(q.Paths, func(path string) bool { return len(path) > maxPathLength })
}

// commandText returns a command that is given as a text or as a list of words. For a shell with a
// script argument, it returns the script.
func commandText(v json.RawMessage) string {
	words := textsOf(v)
	if len(words) == 3 && strings.HasSuffix(words[0], "sh") && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// textsOf returns the texts of a JSON string or of an array of strings.
func textsOf(v json.RawMessage) []string {
	var one string
	if len(v) == 0 {
		return nil
	}
	if json.Unmarshal(v, &one) == nil {
		if one == "" {
			return nil
		}
		return []string{one}
	}
	var many []string
	if json.Unmarshal(v, &many) != nil {
		return nil
	}
	return many
}

// mayLeaveDir reports whether a pattern may match files outside the directory that is searched.
func mayLeaveDir(pattern string) bool {
	return filepath.IsAbs(pattern) || strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") ||
		slices.Contains(strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' || r == '\\' || r == '{' || r == ',' || r == '}' }), "..")
}

// harmless contains the names of environment variables that cannot change which command is run.
var harmless = []string{
	"CI", "CLAUDECODE", "COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TERM", "TZ", "LANG",
	"LANGUAGE", "LC_ALL", "GEMINI_CLI",
}

// isHarmlessEnv reports whether all environment variables of a command are harmless. Variables such
// as PATH or LD_PRELOAD are not.
func isHarmlessEnv(v json.RawMessage) bool {
	var all []struct {
		Name string `json:"name"`
	}
	if len(v) == 0 || string(v) == "null" || string(v) == "{}" {
		return true
	}
	if json.Unmarshal(v, &all) != nil {
		return false
	}
	for _, one := range all {
		if !slices.Contains(harmless, one.Name) {
			return false
		}
	}
	return true
}
