package host

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// Config describes one host declaration, merged from the source and the manifest. The JSON names of
// its fields and of the embedded structs' fields are keys of [hosts.X] or of the declaration.
type Config struct {
	Name string `json:"-"` // name of the declaration, used in messages
	// name of the host's section in the manifest, [hosts.<Connector>]
	Connector string `json:"-"`
	Transport string `json:"transport"` // a key of the transports table; "" means "stdio"
	// relative to Dir if it contains a slash, otherwise looked up in PATH
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`         // added to the inherited environment
	Dir     string            `json:"working_dir"` // working directory
	// seconds for a whole exchange, and for the initialisation unless InitTimeout is set; 0 means
	// the default
	Timeout      float64         `json:"timeout"`
	InputFormat  string          `json:"input_format"`  // "json" or "text"; for "" see inputJSON
	OutputFormat string          `json:"output_format"` // "json", "text" or ""
	Params       json.RawMessage `json:"-"`             // a JSON object with its member order kept, or nil
	// parameters read from the environment when a process starts
	ParamsEnv ParamsEnv `json:"params_env"`
	// longest line that the host may send, in bytes; 0 means ndjson.DefaultLimit
	MaxLine int `json:"max_line"`
	// number of processes that may run at the same time; 0 means 1
	Instances int `json:"instances"`
	Initialisation
	Upkeep
	Vendor adapter.Vendor `json:"-"` // additional keys of a vendor's agent
	// whether it receives Options.Exports; nil means only a vendor's agent does
	Telemetry *bool  `json:"telemetry"`
	Access    Access `json:"-"` // what its processes may do
	Bounds    Bounds `json:"-"` // limits of its processes and exchanges
	Inherited        // variables that are passed on from the run's environment
	Isolation
}

// Access contains the keys of [hosts.X] about what its processes may do.
type Access struct {
	// rules that decide approvals without asking; nil decides no approval
	Permissions *hostpolicy.Rules `json:"permissions"`
	// what the processes may access; nil means the same as this process
	Sandbox    *Sandbox   `json:"sandbox"`
	Unattended Unattended `json:"-"` // answers to requests without another answer
}

// Unattended contains the keys of [hosts.X] about requests for which there is no other answer.
type Unattended struct {
	QuestionTimeout float64         `json:"question_timeout"` // seconds for an answer; 0 means no limit
	QuestionDefault json.RawMessage `json:"question_default"` // nil means ""
	ApprovalDefault json.RawMessage `json:"approval_default"` // nil means a denial
}

// ParamEnv sets the parameter Param to the value of the environment variable Env.
type ParamEnv struct {
	Param string
	Env   string
}

// ParamsEnv lists parameters in order. In JSON it is an object that maps each parameter to its
// variable.
type ParamsEnv []ParamEnv

func (p *ParamsEnv) UnmarshalJSON(text []byte) error {
	all, err := jsonobject.Members(text)
	if err != nil {
		return err
	}
	*p = nil
	for _, m := range all {
		var variable string
		if err := json.Unmarshal(m.Value, &variable); err != nil {
			return err
		}
		*p = append(*p, ParamEnv{Param: m.Name, Env: variable})
	}
	return nil
}

// Recorded reports whether the host replays a recording, that is, whether its command is `concerto
// host replay`.
func (c *Config) Recorded() bool {
	return filepath.Base(c.Command) == "concerto" && len(c.Args) > 1 && c.Args[0] == "host" && c.Args[1] == "replay"
}

// ParseConfig parses a host from the IR. name is the declaration's name, connector the name of its
// manifest section, and config the keys of both as a JSON object. Relative paths are joined to root
// unless root is "".
func ParseConfig(name, connector string, params, config json.RawMessage, root string) (Config, error) {
	c := Config{Name: name, Connector: connector, Params: params}
	if len(config) > 0 {
		for _, part := range []any{&c, &c.Vendor, &c.Access, &c.Bounds, &c.Access.Unattended} {
			if err := json.Unmarshal(config, part); err != nil {
				return c, fmt.Errorf("could not read the configuration of host %s: %w", name, err)
			}
		}
	}
	for _, n := range []struct {
		key   string
		value float64
	}{{"max_line", float64(c.MaxLine)}, {"instances", float64(c.Instances)}, {"timeout", c.Timeout}, {"init_timeout", c.InitTimeout},
		{"heartbeat", c.Heartbeat}, {"idle_seconds", c.IdleSeconds}, {"cancel_grace", c.CancelGrace}, {"background_timeout", c.Vendor.BackgroundTimeout}} {
		if n.value < 0 {
			return c, fmt.Errorf("could not read the configuration of host %s: %s is negative", name, n.key)
		}
	}
	if err := c.Bounds.Limits.check(); err != nil {
		return c, fmt.Errorf("could not read the configuration of host %s: %w", name, err)
	}
	c.applySandbox()
	c.Root = root
	if root == "" {
		return c, nil
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		return c, fmt.Errorf("could not read the configuration of host %s: %w", name, err)
	}
	expandManifestDir(dir, c.Args, c.Env)
	c.Dir = joinRoot(root, c.Dir)
	if strings.Contains(c.Command, "/") {
		c.Command = joinRoot(root, c.Command)
	}
	return c, nil
}

// expandManifestDir replaces ${manifest_dir} by the manifest's directory.
func expandManifestDir(dir string, args []string, env map[string]string) {
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "${manifest_dir}", dir)
	}
	for name, value := range env {
		env[name] = strings.ReplaceAll(value, "${manifest_dir}", dir)
	}
}

func joinRoot(root, path string) string {
	if path == "" {
		return root
	}
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}
