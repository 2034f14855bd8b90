package main

import (
	"context"
	"time"

	"github.com/concerto-lang/concerto/relay/server/pair"
)

func (l *localManager) lookPairing(ctx context.Context, code string) (name, fingerprint string, err error) {
	return pair.Look(ctx, l.store, code, time.Now().UnixMilli())
}

func (l *localManager) confirmPairing(ctx context.Context, code string) (machine string, err error) {
	return pair.Confirm(ctx, l.store, commandLine, code, time.Now().UnixMilli())
}

func (s *remoteManager) lookPairing(ctx context.Context, code string) (name, fingerprint string, err error) {
	var out struct{ Name, Fingerprint string }
	err = s.call(ctx, "POST", "/pair/look", map[string]string{"code": code}, &out)
	return out.Name, out.Fingerprint, err
}

func (s *remoteManager) confirmPairing(ctx context.Context, code string) (machine string, err error) {
	var out struct {
		MachineID string `json:"host_id"`
	}
	err = s.call(ctx, "POST", "/pair/confirm", map[string]string{"code": code}, &out)
	return out.MachineID, err
}
