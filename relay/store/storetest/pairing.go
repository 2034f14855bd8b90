package storetest

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

// keyOf returns a public key for the test; different numbers have different keys.
func keyOf(n byte) ed25519.PublicKey {
	return ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune('a'+n)), ed25519.SeedSize))).Public().(ed25519.PublicKey)
}

func (f *fixture) pairing(n byte, change func(*store.Pairing)) store.Pairing {
	p := store.Pairing{ID: fmt.Sprint("p", n), CodeHash: fmt.Sprint("c", n), PublicKey: protocol.KeyText(keyOf(n)), Name: "desk", Address: "10.0.0.1", Expires: 600_000}
	if change != nil {
		change(&p)
	}
	return p
}

func (f *fixture) confirm(code string, at int64) (*store.Pairing, error) {
	return f.ConfirmPairing(ctx, code, at, func(p *store.Pairing) audit.Record {
		r := rec("host_paired")
		r.Subject = []byte(fmt.Sprintf(`{"host":%q}`, p.MachineID))
		return r
	})
}

// pairings checks that a code creates one machine, and only once and before its expiry. A machine
// retains the id of its machine only if it knows the machine's token. Events that are sent with the
// token are then refused.
func pairings(t *testing.T, open Opener) {
	f := begin(t, open)
	for n, change := range []func(*store.Pairing){
		nil,
		func(p *store.Pairing) { p.Asked, p.TokenHash = "host_a", "t" },
		func(p *store.Pairing) { p.Asked, p.TokenHash = "host_a", "wrong" },
		func(p *store.Pairing) { p.Asked = "host_a" },
	} {
		if err := f.AddPairing(ctx, f.pairing(byte(n), change), 1, 10, 10); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.AddPairing(ctx, f.pairing(9, func(p *store.Pairing) { p.CodeHash = "c0" }), 1, 10, 10); !errors.Is(err, store.ErrConflict) {
		t.Errorf("second pairing with the same code: error = %v, want ErrConflict", err)
	}
	if err := f.AddPairing(ctx, f.pairing(9, nil), 1, 10, 4); !errors.Is(err, store.ErrTooMany) {
		t.Errorf("too many pairings of an address: error = %v, want ErrTooMany", err)
	}
	if err := f.AddPairing(ctx, f.pairing(9, func(p *store.Pairing) { p.Address = "10.0.0.2" }), 1, 4, 4); !errors.Is(err, store.ErrTooMany) {
		t.Errorf("too many pairings: error = %v, want ErrTooMany", err)
	}
	if p, err := f.PairingOf(ctx, "c1", 2); err != nil || p.ID != "p1" || p.Asked != "host_a" || p.TokenHash != "t" || p.MachineID != "" {
		t.Errorf("pairing = %+v, %v", p, err)
	}
	if _, err := f.confirm("c0", 600_000); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("confirmation after the expiry: error = %v, want ErrUnknown", err)
	}
	f.mustStore(1, f.event(1, protocol.RunStarted, `{"tool":"x","cwd":"/","command":"x"}`))
	for n, want := range []string{protocol.MachineOfKey(keyOf(0)), "host_a", protocol.MachineOfKey(keyOf(2)), protocol.MachineOfKey(keyOf(3))} {
		p, err := f.confirm(fmt.Sprint("c", n), 599_999)
		if err != nil || p.MachineID != want {
			t.Fatalf("confirmation %d = %+v, %v, want machine %s", n, p, err, want)
		}
		h, err := f.Machine(ctx, want)
		if err != nil || h.PublicKey != protocol.KeyText(keyOf(byte(n))) || h.TokenHash != "" || h.Name != "desk" {
			t.Errorf("paired machine = %+v, %v; want its key and no token", h, err)
		}
		if _, err := f.confirm(fmt.Sprint("c", n), 599_999); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("second confirmation: error = %v, want ErrUnknown", err)
		}
		if p, err := f.Pairing(ctx, p.ID); err != nil || p.MachineID != want {
			t.Errorf("confirmed pairing = %+v, %v", p, err)
		}
	}
	if out, _ := f.append(f.output(2)); !out[0].Stale {
		t.Errorf("outcome of an event sent with the token = %+v, want stale", out[0])
	}
	if err := f.RemoveMachine(ctx, "host_a", 1, rec("host_removed")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Machine(ctx, "host_a"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("removed machine: error = %v, want ErrUnknown", err)
	}
	if err := f.AddPairing(ctx, f.pairing(8, nil), 600_000+10*60*1000, 10, 10); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Pairing(ctx, "p0"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("pairing after its retention: error = %v, want ErrUnknown", err)
	}
	if got := strings.Join(f.kinds(), " "); got != "run_started host_paired host_paired host_paired host_paired host_removed" {
		t.Error(got)
	}
}

// pairedOnce confirms a code several times concurrently; one confirmation may succeed. Several
// servers also create a secret concurrently; all must get the same one.
func pairedOnce(t *testing.T, open Opener) {
	f := begin(t, open)
	if err := f.AddPairing(ctx, f.pairing(0, nil), 1, 10, 10); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	done, secrets := 0, map[string]bool{}
	for i := range 8 {
		all.Go(func() {
			_, err := f.confirm("c0", 2)
			value, err2 := f.Secret(ctx, "key", func() (string, error) { return fmt.Sprint(i), nil })
			mu.Lock()
			defer mu.Unlock()
			if secrets[value] = true; err == nil {
				done++
			}
			if err != nil && !errors.Is(err, store.ErrUnknown) || err2 != nil {
				t.Errorf("errors = %v, %v", err, err2)
			}
		})
	}
	all.Wait()
	if done != 1 || len(secrets) != 1 {
		t.Errorf("confirmations = %d, secrets = %v; want one of each", done, secrets)
	}
}
