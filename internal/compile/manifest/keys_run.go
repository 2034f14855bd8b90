package manifest

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// policies contains the policies for effects with an unknown outcome.
var policies = []string{"retry", "fail", "ask"}

// unknownKinds contains the kinds of effects for which [run.unknown] sets a policy. Any other key
// in [run.unknown] is a network host.
var unknownKinds = []string{"http", "command", "mcp", "file", "tool"}

// runKeys contains the keys of [run].
var runKeys = []Key{
	{Path: "run.journal", Type: String, nonempty: true, Example: `"runs"`, Doc: "Each `concerto run` is durable: it stores its journal in a directory below this one, named after the run's id. `--journal` sets the directory of one run."},
	{Path: "run.park", Type: Bool, Default: "false", Example: "true", Doc: "A run that only waits for people's answers parks, as with `--park`."},
	{Path: "run.sync", Type: Enum, Values: []string{"output", "every", "never"}, Default: `"output"`, Example: `"every"`,
		Doc: "When the journal is synced to the disk, in case the power fails: before an effect that must not be performed twice, before the program gets any result, or never."},
	{Path: "run.max_journal_mb", Type: Integer, Min: 1, Unit: "MiB", Default: "4096", Example: "512", Doc: "The maximum size of the journal. Reaching it counts as a full disk: the run is suspended."},
	{Path: "run.orphan_timeout", Type: Number, Unit: "seconds", Default: "3600", Example: "600", Doc: "How long hosts keep running after the process of their run has exited."},
	{Path: "run.files", Type: Enum, Values: []string{"local", "shared"}, Default: `"local"`, Example: `"shared"`, Doc: "Whether the directory of the workers of an engine is one file system on all machines. If it is not, a run that writes files stays on its machine."},
	{Path: "run.secrets", Type: Strings, holds: variables, Default: "[]", Example: `["CUSTOMER_DB"]`, check: checkSecret,
		Doc: "Environment variables whose values are secret, in addition to those that the manifest uses as secrets and those whose names imply it. No record, message or log contains them."},
	{Path: "run.redact", Type: Strings, holds: anything, Default: "[]", Example: `["cust_[0-9]+"]`, check: checkRedact,
		Doc: "Regular expressions. Tapes and the ledger contain `«redacted»` in place of matches, and of text that has the form of a key."},

	unknownKey("http", "A request with POST or PATCH."),
	unknownKey("command", "A command that RunCommand started."),
	unknownKey("mcp", "A call of an MCP server's tool, unless the tool declares that it only reads or is idempotent."),
	unknownKey("file", "A change of a file that another process has written to since."),
	unknownKey("tool", "A call of an application tool."),
	unknownKey("*", "A request to this network host: write the host's name in quotes, as in `\"api.example.com\" = \"retry\"`."),
}

func unknownKey(kind, doc string) Key {
	return Key{Path: "run.unknown." + kind, Type: Enum, Values: policies, Example: `"retry"`, Doc: doc}
}

// checkSecret returns an error if a text is not the name of one environment variable.
func checkSecret(text string) error {
	if !variable().MatchString(text) || strings.Contains(text, "*") {
		return errors.New("write the full name of an environment variable")
	}
	return nil
}

// checkRedact returns an error if a text is not a valid regular expression for redaction.
func checkRedact(text string) error {
	re, err := regexp.Compile(text)
	switch {
	case err != nil:
		return fmt.Errorf("not a valid regular expression: %w", err)
	case re.MatchString(""):
		return errors.New("it matches an empty text, and therefore every position")
	}
	return nil
}

// networkHost reports a key in [run.unknown] that is no network host, and returns false for it. In
// TOML, a name with dots must be in quotes.
func (r *reader) networkHost(n *node, v any, section string) bool {
	if _, dotted := v.(map[string]any); dotted {
		r.reportWrongType(n, v, section+"."+n.name, "a string").Hint("put the name of the network host in quotes: `\"api.example.com\" = \"retry\"`")
		return false
	}
	if nearest(n.name, unknownKinds) != "" && !strings.Contains(n.name, ".") {
		r.reportUnknown(n, r.place(section), unknownKinds)
		return false
	}
	return true
}
