package protocol

import (
	"bytes"
	"encoding/json"
)

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

// maxBody is more than the size of a body for a push message in bytes.
const maxBody = 1 << 10

const pushMember = "push"

// SplitPush returns the bodies for push messages in the data of a sealed event by device, or nil if
// there are none, and the data without them.
func SplitPush(data json.RawMessage) (bodies map[string]string, rest json.RawMessage, why *Refusal) {
	if !bytes.Contains(data, []byte(`"`+pushMember+`"`)) { // ct is base64url
		return nil, data, nil
	}
	members, text := membersOf(data)
	if text != "" {
		return nil, nil, bad("data: %s", text)
	}
	rest = []byte{'{'}
	for _, m := range members {
		if m.Name != pushMember {
			rest = append(appendName(rest, m.Name), m.Value...)
			continue
		}
		if json.Unmarshal(m.Value, &bodies) != nil {
			return nil, nil, bad("data.push must be an object of texts")
		}
	}
	for device, body := range bodies {
		if !IsID(device) || body == "" || len(body) > maxBody {
			return nil, nil, bad("data.push must have bodies of at most %d bytes by device", maxBody)
		}
	}
	return bodies, append(rest, '}'), nil
}
