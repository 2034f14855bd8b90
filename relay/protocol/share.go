package protocol

import "encoding/json"

// ShareStart is the data of rpc.share.start.
type ShareStart struct {
	RequestID string          `json:"request_id" is:"required id"`
	MachineID string          `json:"host_id" is:"required id"`
	ShareID   string          `json:"share_id" is:"required id" doc:"derived from the secret of the link (relay/seal)"`
	Key       string          `json:"key" is:"required bytes=43" doc:"of the share, 32 bytes in base64url, derived from the secret of the link"`
	Runs      []string        `json:"runs" is:"required items=100" doc:"runs of the machine"`
	Guest     string          `json:"guest,omitempty" is:"bytes=43" doc:"the guest key of the link, 32 bytes in base64url, for an approver"`
	Grant     json.RawMessage `json:"grant,omitempty" is:"object" doc:"for an approver: permits the guest to decide, signed by the device (relay/seal)"`
	From      string          `json:"from,omitempty" is:"enum=start|now" doc:"default start; now shares only later events"`
	TTLS      int64           `json:"ttl_s" is:"required from=60 to=2592000"`
}

// ShareEnd is the data of rpc.share.end.
type ShareEnd struct {
	RequestID string `json:"request_id" is:"required id"`
	MachineID string `json:"host_id" is:"required id"`
	ShareID   string `json:"share_id" is:"required id"`
}

// Share is the result of rpc.share.start and rpc.share.end.
type Share struct {
	ShareID   string   `json:"share_id"`
	Runs      []string `json:"runs" is:"items=100"`
	ExpiresAt string   `json:"expires_at"`
	Role      string   `json:"role" is:"enum=viewer|approver"`
	Guest     string   `json:"guest,omitempty" doc:"id of the browser that has used an approver's link first"`
}

// ShareListResult is the result of rpc.share.list.
type ShareListResult struct {
	Shares []Share `json:"shares" is:"items=100" doc:"the oldest first"`
}
