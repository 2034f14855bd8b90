package protocol

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
