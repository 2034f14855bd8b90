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

// Config is what is known of one host declaration: source and manifest joined. A
// field with a JSON name is a key of [hosts.X], or of the declaration; so are those of Vendor.
type Config struct {
	Name         string            `json:"-"`             // the declaration's name; messages name the host by it
	Connector    string            `json:"-"`             // its section in the manifest, [hosts.<Connector>]
	Transport    string            `json:"transport"`     // a key of the table of transports; "" means "stdio"
	Command      string            `json:"command"`       // with a slash: relative to Dir; else looked up in PATH
	Args         []string          `json:"args"`          //
	Env          map[string]string `json:"env"`           // added to what it inherits
	Dir          string            `json:"working_dir"`   // working directory
	Timeout      float64           `json:"timeout"`       // seconds for a whole exchange, and, unless InitTimeout says, for init; 0 means the defaults
	InputFormat  string            `json:"input_format"`  // "json" or "text"; "" decides by the rest, see inputJSON
	OutputFormat string            `json:"output_format"` // "json", "text" or ""
	Params       json.RawMessage   `json:"-"`             // a JSON object, its order kept; nil: none
	ParamsEnv    ParamsEnv         `json:"params_env"`    // parameters read from the environment at spawn
	MaxLine      int               `json:"max_line"`      // longest line the host may send, in bytes; 0 means ndjson.DefaultLimit
	Instances    int               `json:"instances"`     // how many processes may run side by side; 0 means 1
	Initialisation
	Upkeep
	Vendor      adapter.Vendor    `json:"-"`           // for a vendor's agent: keys beside the others
	Permissions *hostpolicy.Rules `json:"permissions"` // what it may do without anybody being asked; nil: nothing is decided
	Inherited                     // of the run's environment
	Isolation
}

// ParamEnv fills the parameter Param from the environment variable Env.
type ParamEnv struct {
	Param string
	Env   string
}

// ParamsEnv are parameters in their order: in JSON an object of variables by
// parameter.
type ParamsEnv []ParamEnv

// UnmarshalJSON reads such an object.
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

// Recorded says that the host plays a recording: its command is `concerto host replay`.
func (c *Config) Recorded() bool {
	return filepath.Base(c.Command) == "concerto" && len(c.Args) > 1 && c.Args[0] == "host" && c.Args[1] == "replay"
}

// ParseConfig reads a host as the IR holds it: its declaration's name, its section
// of the manifest, and the keys of both as a JSON object. Paths start at root, ""
// leaves them as they are.
func ParseConfig(name, connector string, params, config json.RawMessage, root string) (Config, error) {
	c := Config{Name: name, Connector: connector, Params: params}
	if len(config) > 0 {
		for _, part := range []any{&c, &c.Vendor} {
			if err := json.Unmarshal(config, part); err != nil {
				return c, fmt.Errorf("read host %s: %w", name, err)
			}
		}
	}
	if c.MaxLine < 0 || c.Instances < 0 || min(c.Timeout, c.InitTimeout, c.Heartbeat, c.IdleSeconds, c.CancelGrace) < 0 {
		return c, fmt.Errorf("read host %s: a negative number", name)
	}
	c.Root = root
	if root == "" {
		return c, nil
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		return c, fmt.Errorf("read host %s: %w", name, err)
	}
	manifestDir(dir, c.Args, c.Env)
	c.Dir = below(root, c.Dir)
	if strings.Contains(c.Command, "/") {
		c.Command = below(root, c.Command)
	}
	return c, nil
}

// manifestDir writes the manifest's directory in place of ${manifest_dir}.
func manifestDir(dir string, args []string, env map[string]string) {
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "${manifest_dir}", dir)
	}
	for name, value := range env {
		env[name] = strings.ReplaceAll(value, "${manifest_dir}", dir)
	}
}

func below(root, path string) string {
	if path == "" {
		return root
	}
	if path = filepath.FromSlash(path); filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(root, path)
}
