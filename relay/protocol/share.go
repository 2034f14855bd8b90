package protocol

// ShareStart is the data of rpc.share.start.
type ShareStart struct {
	RequestID string   `json:"request_id" is:"required id"`
	MachineID string   `json:"host_id" is:"required id"`
	ShareID   string   `json:"share_id" is:"required id" doc:"derived from the secret of the link (relay/seal)"`
	Key       string   `json:"key" is:"required bytes=43" doc:"of the share, 32 bytes in base64url, derived from the secret of the link"`
	Runs      []string `json:"runs" is:"required items=100" doc:"runs of the machine"`
	From      string   `json:"from,omitempty" is:"enum=start|now" doc:"default start; now shares only later events"`
	TTLS      int64    `json:"ttl_s" is:"required from=60 to=2592000"`
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
}

// ShareListResult is the result of rpc.share.list.
type ShareListResult struct {
	Shares []Share `json:"shares" is:"items=100" doc:"the oldest first"`
}
