package hostd

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
)

// loadPairing sets the machine's id and server from the stored pairing, if this machine is paired
// with the configured server.
func (d *Daemon) loadPairing(ctx context.Context) error {
	pairing, err := pair.Load(d.o.State)
	if err != nil || pairing == nil {
		return err
	}
	if d.o.Server == "" {
		d.o.Server = pairing.Server
	}
	if here, err := d.isPairedWithServer(ctx, pairing); err != nil || !here {
		return err
	}
	if d.o.MachineID != "" && d.o.MachineID != pairing.MachineID {
		return fmt.Errorf("the machine's id is %s, and this machine was paired as %s: omit --host-id, or pair again", d.o.MachineID, pairing.MachineID)
	}
	d.o.MachineID, d.paired = pairing.MachineID, pairing
	return nil
}

// isPairedWithServer reports whether the pairing was made with the configured server.
func (d *Daemon) isPairedWithServer(ctx context.Context, pairing *pair.Pairing) (bool, error) {
	if d.o.HasMachine == nil {
		return pairing.IsWith(d.o.Server), nil
	}
	return d.o.HasMachine(ctx, pairing.MachineID, pairing.Public())
}

// Paired reports whether the machine authenticates with the key of a pairing.
func (d *Daemon) Paired() bool { return d.paired != nil }

// key returns the key with which the machine authenticates. It reads the pairing at each call, so
// that the next connection uses a new pairing.
func (d *Daemon) key(ctx context.Context) (*link.Key, error) {
	pairing, err := pair.Load(d.o.State)
	if err != nil || pairing == nil {
		return nil, err
	}
	if here, err := d.isPairedWithServer(ctx, pairing); err != nil || !here {
		return nil, err
	}
	server, err := pairing.Pinned()
	return &link.Key{MachineID: pairing.MachineID, Private: pairing.Private(), Server: server, Pin: pairing.Pin}, err
}
