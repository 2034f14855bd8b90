package protocol

import (
	"bytes"
	"encoding/json"
)

// Signed is the part of a command's data that all commands of a device to a run have.
type Signed struct {
	Seal *Seal `json:"seal,omitempty" doc:"the signature of a device; a machine with an account requires it"`
}

// SignedRPC is the part of an RPC's data that all RPCs have.
type SignedRPC struct {
	Signed
	// RPCType binds the signature to the type of the RPC, which a statement does not contain.
	RPCType string `json:"rpc_type,omitempty" doc:"the type of the RPC; required with seal"`
}

// Seal is the signature of a device over a command. The signed content is {data, salt}, where data
// is the command's data without the member seal (relay/seal).
type Seal struct {
	Statement json.RawMessage `json:"statement" is:"required object"`
	Sig       string          `json:"sig" is:"required bytes=128"`
	Salt      string          `json:"salt" is:"required bytes=64"`
}

// SealedCommand is the data of a command that only the machine can read, with the member enc in the
// envelope. The envelope's id is that of the statement (relay/seal).
type SealedCommand struct {
	CT     string `json:"ct" is:"required" doc:"the encrypted command, with its signature"`
	Device string `json:"device" is:"required id" doc:"that has signed it"`
	Epoch  int64  `json:"epoch" is:"required from=1 to=9007199254740991" doc:"of the machine's keys"`
	ID     string `json:"id" is:"required id" doc:"that of the envelope"`
}

// SealedResponse is the data of the response to a sealed RPC, which only its device can read.
type SealedResponse struct {
	CT string `json:"ct" is:"required" doc:"the encrypted data of the response, which has no other members"`
}

// RosterPosition identifies a line of a roster and all lines before it.
type RosterPosition struct {
	N    int64  `json:"n"`
	Hash string `json:"hash"`
}

const sealMember = "seal"

// SplitSeal returns the signature in the data of a command, or nil if there is none, and the data
// without it. The other members remain as they are, in their order.
func SplitSeal(data json.RawMessage) (*Seal, json.RawMessage, *Refusal) {
	members, why := membersOf(data)
	if why != "" {
		return nil, nil, bad("data: %s", why)
	}
	var seal *Seal
	rest := []byte{'{'}
	for _, m := range members {
		if m.Name != sealMember {
			rest = append(appendName(rest, m.Name), m.Value...)
			continue
		}
		if isNull(m.Value) {
			continue
		}
		if why := (checker{strict: true}).check(shapeOf(Seal{}), m.Value, "data.seal"); why != "" {
			return nil, nil, bad("%s", why)
		}
		d := json.NewDecoder(bytes.NewReader(m.Value))
		d.DisallowUnknownFields()
		if err := d.Decode(&seal); err != nil {
			return nil, nil, bad("data.seal: %v", err)
		}
	}
	return seal, append(rest, '}'), nil
}

// AddSeal returns the data of a command, a JSON object without a signature, with one.
func AddSeal(data json.RawMessage, seal *Seal) json.RawMessage {
	text, err := json.Marshal(seal)
	if err != nil {
		panic("protocol: a signature is no JSON: " + err.Error()) // its statement was decoded or encoded
	}
	out := bytes.TrimSuffix(bytes.Clone(data), []byte("}"))
	return append(append(appendName(out, sealMember), text...), '}')
}
