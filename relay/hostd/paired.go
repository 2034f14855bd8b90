package hostd

import (
	"context"
	"fmt"

	"github.com/concerto-lang/concerto/relay/hostd/link"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
)

// loadPairing sets the host's id and server from its pairing, if it has one with this server.
func (d *Daemon) loadPairing(ctx context.Context) error {
	kept, err := pair.Load(d.o.State)
	if err != nil || kept == nil {
		return err
	}
	if d.o.Server == "" {
		d.o.Server = kept.Server
	}
	if here, err := d.isPairedWithServer(ctx, kept); err != nil || !here {
		return err
	}
	if d.o.HostID != "" && d.o.HostID != kept.HostID {
		return fmt.Errorf("the host's id is %s, and this machine was paired as %s: leave --host-id out, or pair again", d.o.HostID, kept.HostID)
	}
	d.o.HostID, d.paired = kept.HostID, kept
	return nil
}

// isPairedWithServer reports whether the pairing is with the configured server.
func (d *Daemon) isPairedWithServer(ctx context.Context, kept *pair.Pairing) (bool, error) {
	if d.o.KnowsHost == nil {
		return kept.IsWith(d.o.Server), nil
	}
	return d.o.KnowsHost(ctx, kept.HostID, kept.Public())
}

// Paired reports whether the server knows the host by its key.
func (d *Daemon) Paired() bool { return d.paired != nil }

// key returns the key by which the server knows the host. It reads the pairing each time, so a new
// pairing applies from the next connection.
func (d *Daemon) key(ctx context.Context) (*link.Key, error) {
	kept, err := pair.Load(d.o.State)
	if err != nil || kept == nil {
		return nil, err
	}
	if here, err := d.isPairedWithServer(ctx, kept); err != nil || !here {
		return nil, err
	}
	server, err := kept.Pinned()
	return &link.Key{HostID: kept.HostID, Private: kept.Private(), Server: server, Pin: kept.Pin}, err
}
