// Package manifest reads Concerto.toml: the deployment of a program, such as how its hosts are
// started and which model answers its agents (spec/17-manifest.md).
//
// Parse turns a text into a Manifest and diagnostics. The driver passes the Manifest's data to the
// checker and the code generator, which embeds it in the IR. The package reads no files and no
// environment: it only names variables, and paths stay as written, relative to the manifest's
// directory, so that no IR depends on where a project is.
//
// One table (keys.go) defines the keys. Checking, suggestions and the manual's list of keys all
// read it.
package manifest

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// FileName is the manifest's name in a project's directory.
const FileName = "Concerto.toml"

// Builtin is the name of the connection that every program has, also without a manifest. It uses
// the scripted provider, which returns each prompt unchanged unless the manifest defines replies.
const Builtin = "scripted"

// Manifest is the content of a Concerto.toml. Its lists are in file order. A Manifest does not
// change after Parse returns, so it is safe for concurrent use.
type Manifest struct {
	File        *source.File
	Project     Project
	Connections []*Connection
	Hosts       []*Host
	MCP         []*MCP
	Tools       []*Tool
	// Dependencies contains the valid entries of [dependencies].
	Dependencies []*Dependency
	Limits       Limits
	Lints        Lints
	Audit        Audit
	Relay        Relay
	Engine       Engine
	Eval         Eval
	Run          Run
	Workspace    Workspace
	Merges       []*Merge
	Guard        *Guard       // nil without [guard]
	Permissions  *Permissions // nil without [permissions], which allows files, environment variables and HTTP
	// Nameless is set if a section such as [connections] contains keys instead of named
	// subsections. The names of the connections, hosts or servers are then unknown.
	Nameless bool
}

// Places returns the span of a section's header or of a key in it. The header's
// key is "".
type Places map[string]Place

// Place is the position of a key and its value in the manifest's text.
type Place struct{ Key, Value source.Span }

// Project is [project]. Entry is the path of the main file, relative to the manifest; "" means
// main.conc. Lib is the path of the root module that packages which require this one see; ""
// means lib.conc. Concerto is the oldest version of concerto that can compile the project, or "".
type Project struct {
	Name     string
	Version  string
	Entry    string
	Lib      string
	Concerto string
	At       Places
}

// Lints is [lints]. Allow lists the codes of warnings that are not reported, and Deny those that
// count as errors.
type Lints struct{ Allow, Deny []string }

// Connection is [connections.X]: a way to a model. Config is as a Host's; the other fields are the
// keys that the compiler and its tools read. Fallback names connections. Models contains models by
// their aliases. Script is a file relative to the manifest, with the replies of the scripted
// provider.
type Connection struct {
	Name         string                  `json:"-"`
	Config       json.RawMessage         `json:"-"`
	Provider     string                  `json:"provider"`
	APIKeyEnv    string                  `json:"api_key_env"`
	TokenCommand []string                `json:"token_command"`
	BaseURL      string                  `json:"base_url"`
	API          string                  `json:"api"`
	APIVersion   string                  `json:"api_version"`
	Cache        string                  `json:"cache"`
	DefaultModel string                  `json:"default_model"`
	Timeout      float64                 `json:"timeout"` // in seconds; 0 means that the key is not set
	Fallback     []string                `json:"fallback"`
	Models       map[string]string       `json:"models"`
	Prices       map[string]models.Rates `json:"prices"`
	// ModelSettings contains what models accept, by patterns of their names.
	ModelSettings models.Overrides  `json:"model_settings"`
	HeadersEnv    map[string]string `json:"headers_env"`
	Script        string            `json:"-"`
	At            Places            `json:"-"`
}

// Host is [hosts.X]: how a host's process is started and treated. Config holds
// its keys as a JSON object in file order; the code that uses them decodes it.
// Params is the same for [hosts.X.params], nil without parameters.
type Host struct {
	Name   string
	Params json.RawMessage
	Config json.RawMessage
	At     Places
}

// Variable is a name with a text: a member of a table of strings.
type Variable struct{ Name, Value string }

// MCP is [mcp.X]: how a tool server is reached. Config is as a Host's.
type MCP struct {
	Name   string
	Config json.RawMessage
	At     Places
}

// Eval is [eval]: defaults of `concerto eval`. Zero means that the key is not set.
type Eval struct {
	Dir        string
	Parallel   int
	MaxCostUSD float64
	MaxErrors  int
	At         Places
}

// Limits is [limits]. Config contains the section's keys as a JSON object; it is nil without the
// section. With a limit of the day, it always contains `day_file`.
type Limits struct {
	Config json.RawMessage
	At     Places
}

// Permissions is [permissions]: the resources that a program may use. A nil list has the same
// effect as a missing section, unless Default is "deny".
type Permissions struct {
	FS    []string // directories, relative to the manifest
	Env   []string // names of environment variables
	Net   []string // names of network hosts
	Tools []string // tools, or their functions in the form Tool::function; nil allows all
	Run   []string // names of commands
	// Default applies to files, environment variables and network hosts if FS, Env or Net is nil.
	// It is "allow" or "deny"; "" means "allow".
	Default string
	// Approve lists filters of the application's tools. Calls of matching tools require an
	// approval.
	Approve []string
	At      Places
}

// Audit is [audit]: File is where calls of tools are recorded, relative to the
// manifest; "" is nowhere.
type Audit struct {
	File string
	At   Places
}

// Relay is [relay]. Share reports runs to the relay on this machine under Title; "" means the name
// of the project.
type Relay struct {
	Share bool
	Title string
	At    Places
}

// Engine is [engine]. URLEnv is the environment variable that contains the URL of the database in
// which durable runs are stored; "" means CONCERTO_ENGINE.
type Engine struct {
	URLEnv string
	At     Places
}

// Run is [run]: how runs are stored so that they can be resumed, and what their records contain.
// Config contains the section's keys as a JSON object; it is nil without the section.
type Run struct {
	Config json.RawMessage
	At     Places
}

// Workspace is [workspace]: how the worktrees of agents are created. Config contains the section's
// keys as a JSON object; it is nil without the section.
type Workspace struct {
	Config json.RawMessage
	At     Places
}

// Merge is [merge.X]: a merge queue. Config is as a Host's.
type Merge struct {
	Name   string
	Config json.RawMessage
	At     Places
}

// Origin returns the place of a connection for messages: the manifest's file, and
// the line of api_key_env or else of the section's header.
func (m *Manifest) Origin(c *Connection) string {
	return fmt.Sprintf("%s:%d", FileName, m.Line(c.At, "api_key_env"))
}

// LacksKey reports whether the connection uses a provider's own server, which
// requires a key, and names no key. Providers where every user has an address of its own
// require one at any address.
func (c *Connection) LacksKey() bool {
	p := models.ProviderNamed(c.Provider)
	return c.APIKeyEnv == "" && c.TokenCommand == nil && (c.BaseURL == "" || p.Addressed) && p.NeedsKey && len(c.HeadersEnv) == 0
}

// Endpoint returns the keys that determine the API of the connection.
func (c *Connection) Endpoint() models.Endpoint {
	return models.Endpoint{Provider: c.Provider, API: c.API, BaseURL: c.BaseURL, APIVersion: c.APIVersion, Models: c.ModelSettings}
}

// Connection returns the connection with this name, or nil.
func (m *Manifest) Connection(name string) *Connection {
	for _, c := range m.Connections {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Host returns the host with this name, or nil.
func (m *Manifest) Host(name string) *Host {
	for _, h := range m.Hosts {
		if h.Name == name {
			return h
		}
	}
	return nil
}

// Line is the 1-based line of a key of a section, or of the section's header
// when the key is not written there.
func (m *Manifest) Line(at Places, key string) int {
	p, ok := at[key]
	if !ok {
		p = at[""]
	}
	return m.File.LineOf(p.Key.Start)
}

// BesideCode is the directory in which `concerto init --here` creates a project beside code.
const BesideCode = "concerto"

// LocateProject is like Locate, but also finds the project beside the code in start. The manifest
// in start itself takes precedence over it, and those of the parents do not.
func LocateProject(start string, exists func(path string) bool) (path string, ok bool) {
	if beside := filepath.Join(start, BesideCode, FileName); exists(beside) && !exists(filepath.Join(start, FileName)) {
		return beside, true
	}
	return Locate(start, exists)
}

// Locate searches the directory start and its parents for a Concerto.toml, and returns the path of
// the nearest one. It calls exists to check whether a file exists, because this package does not
// access the file system.
func Locate(start string, exists func(path string) bool) (path string, ok bool) {
	for dir := filepath.Clean(start); ; {
		if p := filepath.Join(dir, FileName); exists(p) {
			return p, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}
