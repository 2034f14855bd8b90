package hostpolicy

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// pathNames are the members of a call's arguments that name files, in the words of
// the agents that are known.
var pathNames = strings.Fields(`path paths file_path filePath filepath file_paths files file notebook_path absolute_path dir_path directory
	from to source destination old_path new_path grantRoot`)

// patternNames are the names of arguments that hold a pattern of files or text to search for.
var patternNames = []string{"pattern", "glob", "query", "include"}

// ParseRequest parses the action that an approval is about from a host's message in JSON.
func ParseRequest(message []byte) Request {
	var m struct {
		Tool  string                     `json:"tool"`
		Kind  string                     `json:"kind"`
		Paths []string                   `json:"paths"`
		Args  map[string]json.RawMessage `json:"args"`
	}
	// A member of another type is none that a rule could allow.
	q := Request{Opaque: json.Unmarshal(message, &m) != nil, Kind: m.Kind, Paths: m.Paths}
	q.Command = commandText(m.Args["command"])
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

// Limits on a request. Larger ones are not plausible, and judging them could take too long.
const (
	maxPaths      = 10_000
	maxText       = 256 << 10 // bytes of its paths together, and of its command
	maxPathLength = 16 << 10
)

// isTooLarge reports whether a request exceeds the limits.
func (q *Request) isTooLarge() bool {
	n := len(q.Dir)
	for _, path := range q.Paths {
		n += len(path)
	}
	return len(q.Paths) > maxPaths || n > maxText || len(q.Command) > maxText || len(q.Dir) > maxPathLength ||
		slices.ContainsFunc(q.Paths, func(path string) bool { return len(path) > maxPathLength })
}

// commandText returns a command that is a text or a list of words. Of a shell invocation it returns
// the script.
func commandText(v json.RawMessage) string {
	words := textsOf(v)
	if len(words) == 3 && strings.HasSuffix(words[0], "sh") && (words[1] == "-c" || words[1] == "-lc") {
		return words[2]
	}
	return strings.Join(words, " ")
}

// textsOf returns a text, or the texts of a list.
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

// mayLeaveDir reports whether a pattern may leave the directory that it is searched in.
func mayLeaveDir(pattern string) bool {
	return filepath.IsAbs(pattern) || strings.HasPrefix(pattern, "/") || strings.HasPrefix(pattern, "~") ||
		slices.Contains(strings.FieldsFunc(pattern, func(r rune) bool { return r == '/' || r == '\\' || r == '{' || r == ',' || r == '}' }), "..")
}

// harmless are variables that do not change which command a command is.
var harmless = strings.Fields("CI CLAUDECODE COLUMNS LINES FORCE_COLOR NO_COLOR TERM TZ LANG LANGUAGE LC_ALL GEMINI_CLI")

// isHarmlessEnv reports whether the variables of a command, a list of names with values, are all
// harmless. A search path, or what a program loads, is not.
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
