package protocol

import "time"

// Limits that both ends know. Limits of single fields are in their tags.
const (
	MaxFrame       = 4 << 20 // bytes
	MaxDepth       = 64      // nesting of arrays and objects
	MaxSeq         = 1<<53 - 1
	MaxBadMessages = 20   // a minute, for each connection
	Window         = 1000 // unacknowledged events of a host

	PingAfter = 20 * time.Second // of silence
	DeadAfter = 45 * time.Second // without a frame

	AcksPerSecond = 50                     // for each run
	AckDelay      = 200 * time.Millisecond // after the commit

	BatchEvents = 256 // in one commit
	BatchBytes  = 1 << 20

	HostEventRate, HostBurst = 5000, 10_000 // per second: a host is not read faster
	// announced events of a reconnecting host, which are read at full speed
	Backlog                   = 1_000_000
	CommandRate, CommandBurst = 50, 100 // per second and session, and their burst
	MaxConcurrentRPCs         = 16      // of a session
	RPCTimeout                = 30 * time.Second
	RPCRetention              = 10 * time.Minute

	InputTTL    = 900 * time.Second
	DecisionTTL = 24 * time.Hour // if the request has no expiry

	MaxOpenRequests = 20     // of a run
	MaxRunsOfHost   = 10_000 // retained
	RunsInHello     = 1000
	RunsInCursor    = 64 // in GET /events

	PairingTTL       = 600 * time.Second // from start to confirmation
	PairingTries     = 5                 // codes a minute for each owner
	ProofTimeout     = 10 * time.Second  // for a host that connects by its key
	MaxSubscriptions = 10                // push subscriptions of a user

	RetryFirst = 500 * time.Millisecond // maximum delay before the second retry
	MaxRetry   = 30 * time.Second

	HoleTimeout  = 60 * time.Second // for a host of protocol 1
	WriteTimeout = 30 * time.Second // a client that blocks for this long is disconnected
	HelloTimeout = 1 * time.Second  // a host that sends no hello is accepted then

	ReplicaHeartbeat = 1 * time.Second // interval of a server's heartbeat
	// a server without a heartbeat for this long is considered dead
	ReplicaLease = 4 * time.Second
	ReplicaPoll  = 250 * time.Millisecond // interval at which a server polls for changes by others
	ReplicaCheck = 2 * time.Second        // the same while NATS is connected
)

// Redacted replaces text that looks like a secret.
const Redacted = "***REDACTED***"

// RetryAfter returns the delay after a number of failed attempts in a row: nothing at first, then
// random times a maximum that doubles each time.
func RetryAfter(tries int, random float64) time.Duration {
	if tries == 0 {
		return 0
	}
	most := min(MaxRetry, RetryFirst<<min(tries-1, 10))
	return time.Duration(random * float64(most))
}
