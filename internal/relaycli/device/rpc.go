package device

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/seal"
)

// RPC performs an RPC of the signer's machine, which only the machine can read, and decodes its
// result into out. data are the members of its data besides the id, the machine and the type.
func (s *Signer) RPC(ctx context.Context, typ string, data map[string]any, out any) error {
	id := rand.Text()
	data["request_id"], data["host_id"], data["rpc_type"] = id, s.host, typ
	c, err := s.Sign(ctx, seal.KindRPC, protocol.RPCSealed, "", id, data)
	if err != nil {
		return err
	}
	frame := map[string]any{"type": c.Type, "id": c.ID, "host_id": s.host, "enc": c.Enc, "data": c.Data}
	text := json.RawMessage{}
	if err := s.server.Call(ctx, http.MethodPost, "/rpc", frame, &text); err != nil {
		return err
	}
	name := console.DisplayText(s.host, 64)
	answer, refused := protocol.Parse(text)
	if refused != nil || answer.Type != protocol.RPCResponse {
		return fmt.Errorf("machine %s has not responded yet: check whether it is online, and try again", name)
	}
	opened := answer.Data
	if answer.Enc != nil {
		if opened, err = s.openResponse(c, answer.Data); err != nil {
			return fmt.Errorf("the response of machine %s was changed by the server: %w", name, err)
		}
	}
	var r protocol.Response
	if err := json.Unmarshal(opened, &r); err != nil {
		return fmt.Errorf("the response of machine %s: %w", name, err)
	}
	switch {
	case !r.OK:
		return &connect.ResponseError{Code: protocol.Code(r.ErrorCode), Message: r.Error}
	case answer.Enc == nil:
		return errors.New("the server sent a response that machine " + name + " has not sealed")
	}
	return json.Unmarshal(r.Result, out)
}

// openResponse opens the response to a sealed RPC.
func (s *Signer) openResponse(c *connect.Command, data json.RawMessage) (json.RawMessage, error) {
	sent, err := seal.ParseSealedCommand(c.Data)
	if err != nil {
		return nil, err
	}
	var response protocol.SealedResponse
	if err := json.Unmarshal(data, &response); err != nil {
		return nil, err
	}
	s.reader.mu.Lock()
	defer s.reader.mu.Unlock()
	for _, e := range s.reader.keys.Epochs {
		if e.N == sent.Epoch && len(e.Commands) > 0 {
			return e.OpenResponse("", sent, response.CT)
		}
	}
	return nil, fmt.Errorf("the keys of epoch %d are missing", sent.Epoch)
}

// Grant signs a grant for a guest, of which the members Share, Runs and Page are set.
func (s *Signer) Grant(g seal.Grant, ttl time.Duration) (json.RawMessage, error) {
	g.Host = s.host
	now := time.Now()
	return s.device.Roster.NewGrant(s.device.Keys, g, now, now.Add(ttl))
}
