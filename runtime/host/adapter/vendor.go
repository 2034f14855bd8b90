package adapter

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Vendor contains the manifest's keys for a host that is a vendor's agent.
type Vendor struct {
	Model    string   `json:"model"`           // "" selects the agent's default
	Mode     string   `json:"mode"`            // when it requests permission; "" means "default"
	Settings []string `json:"settings"`        // which of its own settings it loads; default none
	Approval string   `json:"approval_policy"` // codex: when it asks; "" means "untrusted"
	Sandbox  string   `json:"codex_sandbox"`   // codex: what it may access; "" means "workspace-write"
	Session  string   `json:"session"`         // "fresh": each exchange begins a new session; "" means "keep"
	// what an exchange does about background tasks; "" means BackgroundWait
	Background string `json:"background"`
	// seconds for which an exchange waits for background tasks after its first turn; 0 means until
	// its timeout
	BackgroundTimeout float64 `json:"background_timeout"`
}

// AdapterConfig returns the configuration of a host's adapter. host is the name of the declaration.
// dir is an absolute path.
func (v *Vendor) AdapterConfig(host, dir string) Config {
	return Config{Host: host, Dir: dir, Model: v.Model, Mode: v.Mode, Policy: cmp.Or(v.Approval, "untrusted"),
		Sandbox: cmp.Or(v.Sandbox, "workspace-write"), Fresh: v.Session == "fresh", Background: cmp.Or(v.Background, BackgroundWait),
		Stores: slices.Contains(v.Settings, "local")}
}

// Protocol describes one of the protocols that a host may use.
type Protocol struct {
	Command string // default command
	Install string // name of the npm package that contains the command
	Flags   func(v *Vendor, resume string) []string
	// Environ returns variables, as "NAME=value", unless the manifest sets them; nil for none.
	Environ func(v *Vendor) []string
	New     func(v Config) Adapter // creates the adapter; nil for the host protocol, which needs none
	// OneConversation means that a process serves only one session: a new session needs a new
	// process.
	OneConversation bool
	// SchemaAtStart means that the schema of the results is fixed when a process starts.
	SchemaAtStart bool
	// Confirms means that the agent confirms or refuses each message of the type steer.
	Confirms bool
	// Product is the product's name. Oldest is its first supported version, compared with the
	// output of --version. Both are "" if the handshake contains the version or every version is
	// supported.
	Product, Oldest string

	Timeout, InitTimeout time.Duration // default values
}

// Time limits of vendors' agents. The cold start of an npm program takes up to ten seconds.
const (
	vendorTimeout     = 1800 * time.Second
	vendorInitTimeout = 60 * time.Second
)

const TransportACP = "acp"

// Older reports whether version a precedes version b. Both consist of numbers separated by dots.
func Older(a, b string) bool {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		x, errA := strconv.Atoi(as[i])
		y, errB := strconv.Atoi(bs[i])
		if errA != nil || errB != nil {
			return false
		}
		if x != y {
			return x < y
		}
	}
	return len(as) < len(bs)
}
