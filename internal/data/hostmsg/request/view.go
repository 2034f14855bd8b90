// Package request describes a request for a decision in the form in which every surface shows it: a
// title, a body that contains each fact once, and the reasons. Texts are those of the host, in
// which the surfaces escape control characters.
package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/value"
)

// untitled is the title of a request without a tool.
const untitled = "Take an action"

// View is a request for approval. Of Command, Files and Text, one or none is set.
type View struct {
	Title   string   // one line, such as "Run a command" or "Edit billing/steps.go"
	IsOwn   bool     // the title is a text of the host
	Command string   // with its line breaks
	Dir     string   // directory of the command; "" if it is unknown
	Files   []Change // changes of files
	Text    string   // what else is requested, such as the text of a tool's own description
	Fields  []Field  // arguments that nothing above shows
	Risk    string   // "low", "medium", "high", or "" if it is unknown
	Reason  string   // why the host requests the approval; "" if it states none

	Tool string          // name of the tool; "" if it is unknown
	Args json.RawMessage // arguments of the call as the message has them; nil if there are none
}

// Field is an argument.
type Field struct {
	Name string
	JSON json.RawMessage
}

// Text returns the value for people: a text itself, or indented JSON.
func (f *Field) Text() string {
	var text *string
	if json.Unmarshal(f.JSON, &text) == nil && text != nil {
		return *text
	}
	return indented(f.JSON)
}

// message is a request for approval from a host or of a tool call.
type message struct {
	Description string          `json:"description"`
	Tool        string          `json:"tool"`
	Kind        string          `json:"kind"`
	Args        json.RawMessage `json:"args"`
	Risk        string          `json:"risk_level"`
	Reason      string          `json:"reason"`
	Network     json.RawMessage `json:"network"`
	Changes     []replacement   `json:"changes"` // of agents that send whole texts beside the arguments
}

// Of returns the view of a request for approval: the payload of a HostApproval or of an approval of
// a tool call. read returns the content of a file that the request changes; it may be nil, and an
// error means that the content is unknown.
func Of(payload json.RawMessage, read func(path string) ([]byte, error)) *View {
	var m message
	if json.Unmarshal(payload, &m) != nil { // a member has an unexpected type
		return &View{Title: untitled, Text: indented(payload), Tool: m.Tool, Args: m.Args}
	}
	return m.view(read)
}

// view returns the view of a request.
func (m *message) view(read func(path string) ([]byte, error)) *View {
	a := readArguments(m.Args)
	v := &View{Risk: m.Risk, Reason: m.Reason, Tool: m.Tool, Args: m.Args}
	v.Files = a.changes(m, read)
	v.Title = title(m, a, v.Files)
	switch {
	case v.Files != nil:
	case m.isInput():
		v.Text = a.take("text")
	case a.isCommand(m):
		v.Command, v.Dir = a.take("command", "cmd"), a.take("cwd", "workdir", "directory")
	case m.Network != nil:
		a.omit("host", "port")
	}
	if reason := a.take("description"); v.Reason == "" {
		v.Reason = reason
	}
	a.omitShown(v.Title)
	v.Fields = a.fields()
	v.describe(m)
	if reason := v.Reason; reason != "" {
		if v.Reason = ""; !v.shows(reason) {
			v.Reason = reason
		}
	}
	return v
}

// isInput reports whether the request is about text for a program that is running.
func (m *message) isInput() bool { return m.Kind == "execute" && m.Tool == "stdin" }

// describe adds the description of the request as far as the view does not show it. Without a
// better title, its first line is the title.
func (v *View) describe(m *message) {
	text := strings.TrimSpace(m.Description)
	if program, rest, ok := strings.Cut(strings.TrimPrefix(text, "stdin of "), ": "); ok && m.isInput() && v.shows(strings.Trim(program, `"`)) && v.shows(rest) {
		return
	}
	if name, rest, ok := strings.Cut(text, ": "); ok && !strings.ContainsAny(name, " \n") && (name == m.Tool || v.shows(rest)) {
		text = rest // after the name of the tool
	}
	whole, _, _ := strings.Cut(text, " … (") // adapters cut a long text
	isTitle := strings.HasSuffix(text, " "+path.Base(v.Title)) && len(strings.Fields(text)) == 2
	if text == m.Tool || v.shows(whole) || isTitle || v.Files != nil && v.showsEach(strings.Split(text, ", ")) {
		return
	}
	if v.Title == untitled {
		v.Title, text, _ = strings.Cut(text, "\n")
		v.IsOwn = true
	}
	v.Text = strings.Trim(v.Text+"\n"+text, "\n")
}

// shows reports whether the view contains a text, apart from spaces.
func (v *View) shows(text string) bool {
	text = squeeze(text)
	if text == "" {
		return true
	}
	parts := []string{v.Title, v.Command, v.Text, v.Reason}
	for i := range v.Fields {
		parts = append(parts, v.Fields[i].Text())
	}
	for i := range v.Files {
		parts = append(parts, v.Files[i].Path)
	}
	return strings.Contains(squeeze(strings.Join(parts, "\n")), text)
}

func (v *View) showsEach(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return !v.shows(text) })
}

// squeeze returns a text without spaces, and without hidden characters and their visible forms in
// descriptions.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '⏎' || r == utf8.RuneError || unicode.IsSpace(r) || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, visible().ReplaceAllString(text, ""))
}

// visible matches the visible forms of hidden characters.
var visible = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\u\{[0-9a-f]+\}|\\x[0-9a-f]{2}`) })

// title returns the title of a request.
func title(m *message, a *arguments, files []Change) string {
	switch {
	case len(files) == 1:
		return files[0].verb() + " " + files[0].Path
	case len(files) > 1:
		return fmt.Sprintf("Edit %d files", len(files))
	case m.Network != nil:
		return "Connect to " + address(m)
	case m.isInput():
		return "Type into a running program"
	case a.isCommand(m):
		return "Run a command"
	}
	file := a.text("file_path", "path", "notebook_path")
	switch {
	case m.Kind == "read" && file != "":
		return "Read " + file
	case m.Kind == "edit" && file != "":
		return "Edit " + file
	case m.Kind == "delete" && file != "":
		return "Delete " + file
	case m.Kind == "search" && a.text("pattern", "query") != "":
		return "Search for " + a.text("pattern", "query")
	case m.Kind == "fetch" && a.text("url") != "":
		return "Fetch " + host(a.text("url"))
	case m.Kind == "" && m.Tool != "":
		return "Call the tool " + m.Tool
	case m.Tool != "":
		return "Use " + m.Tool
	}
	return untitled
}

// address returns the address to which a host requests to connect.
func address(m *message) string {
	var n struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	if json.Unmarshal(m.Network, &n) != nil || n.Host == "" {
		return "an address"
	}
	if n.Port == 0 {
		return n.Host
	}
	return fmt.Sprintf("%s:%d", n.Host, n.Port)
}

func host(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Host
	}
	return address
}

// arguments are the arguments of a request that the view does not yet show.
type arguments struct {
	all   *value.Map
	whole json.RawMessage // arguments that are no object; nil for none
}

func readArguments(args json.RawMessage) *arguments {
	if len(args) == 0 || string(args) == "null" {
		return &arguments{all: value.NewMap(0)}
	}
	s, err := value.ParseWire(args)
	if m := s.Map(); err == nil && m != nil {
		return &arguments{all: m}
	}
	return &arguments{all: value.NewMap(0), whole: args}
}

// text returns the first of the arguments that is a text, or "".
func (a *arguments) text(names ...string) string {
	for _, name := range names {
		if v, ok := a.all.GetString(name); ok && v.Kind() == value.KindString {
			return v.AsString()
		}
	}
	return ""
}

// take is text, and the argument then counts as shown.
func (a *arguments) take(names ...string) string {
	for _, name := range names {
		if text := a.text(name); text != "" {
			a.all.Delete(value.String(name))
			return text
		}
	}
	return ""
}

func (a *arguments) isCommand(m *message) bool {
	return m.Kind != "edit" && m.Kind != "delete" && m.Kind != "move" && a.text("command", "cmd") != ""
}

// omitShown omits arguments whose whole text is in the title.
func (a *arguments) omitShown(title string) {
	for _, name := range []string{"file_path", "path", "notebook_path", "pattern", "query", "host"} {
		if text := a.text(name); text != "" && strings.HasSuffix(title, " "+text) {
			a.all.Delete(value.String(name))
		}
	}
}

// fields returns the arguments that are not shown otherwise.
func (a *arguments) fields() (out []Field) {
	if a.whole != nil {
		return []Field{{"arguments", a.whole}}
	}
	a.all.Each(func(k, v value.Slot) bool {
		out = append(out, Field{value.Text(k), value.AppendJSON(nil, v)})
		return true
	})
	return out
}

// indented returns JSON with indented lines; a scalar or an empty container is one line.
func indented(text json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return string(text)
	}
	return b.String()
}
