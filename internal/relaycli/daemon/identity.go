package daemon

import (
	"context"
	"crypto/ed25519"
	"net/http"

	"github.com/spf13/pflag"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
)

// Identity is how this machine identifies itself at its server.
type Identity struct {
	State     string             // state directory of hostd
	Server    string             // URL of the server; "" if none is set
	MachineID string             // "" before hostd was started or paired
	Token     string             // content of --token-file, or else the machine's token; "" if there is none
	Key       ed25519.PrivateKey // nil unless the machine is paired with the server
	Hostd     *connect.Endpoint  // hostd's socket; nothing answers there if hostd does not run
}

// IdentityFlags adds the flags of commands that identify themselves as this machine, or as a user.
// They have the values of hostd's settings.
func IdentityFlags(a *console.Console, f *pflag.FlagSet, s *HostdSettings) {
	machineFlags(a, f, s)
	f.Lookup("token-file").Usage = "read an access token, or this machine's token, from `FILE`"
	f.Lookup("state").Usage = "find the files of hostd in `DIR` (default: ~/.local/state/concerto/hostd)"
	f.Lookup("socket").Usage = "connect to hostd at `PATH` (or $RELAY_HOSTD_SOCK) ($LOCAL_UNIX_SOCKET)"
	f.VisitAll(func(one *pflag.Flag) { console.FromTable(f, one.Name, "hostd") })
}

// Identity returns the identity of this machine. Missing settings are those of the running hostd,
// or in its files.
func (s *HostdSettings) Identity(ctx context.Context, a *console.Console) (*Identity, error) {
	target := connect.Target{Socket: s.socket}
	hostd, err := connect.EndpointOf(a, &target)
	if err != nil {
		return nil, err
	}
	s.Complete(a)
	if err := checkServerURL(a, s.Server); err != nil {
		return nil, err
	}
	id := &Identity{State: s.state, Server: s.Server, Hostd: hostd}
	pairing, err := pair.Load(s.state)
	if err != nil {
		return nil, err
	}
	if pairing != nil && (id.Server == "" || pairing.IsWith(id.Server)) {
		id.Server, id.MachineID, id.Key = pairing.Server, pairing.MachineID, pairing.Private()
	}
	var running struct {
		MachineID string `json:"host_id"`
		Server    string `json:"server"`
	}
	if id.MachineID == "" && hostd.Call(ctx, http.MethodGet, "/health", nil, &running) == nil {
		id.MachineID = running.MachineID
		if id.Server == "" {
			id.Server = running.Server
		}
	}
	o := pair.Options{MachineID: s.machineID, Token: a.Env("HOST_TOKEN")}
	if err := loadCredentials(a, s, &o); err != nil {
		return nil, err
	}
	if id.Token = o.Token; id.MachineID == "" {
		id.MachineID = o.MachineID
	}
	return id, nil
}
