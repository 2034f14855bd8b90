package protocol

import "time"

// Limits that servers, machines and apps know. Limits on single fields are in the tags of the
// fields.
const (
	MaxFrame       = 4 << 20 // maximum size of a frame, in bytes
	MaxDepth       = 64      // maximum nesting of arrays and objects
	MaxSeq         = 1<<53 - 1
	MaxBadMessages = 20   // maximum number of invalid messages per minute and connection
	Window         = 1000 // maximum number of unacknowledged events of a machine

	PingAfter = 20 * time.Second // idle time after which a ping is sent
	DeadAfter = 45 * time.Second // idle time after which a connection is closed

	AcksPerSecond = 50                     // maximum acknowledgements per second and run
	AckDelay      = 200 * time.Millisecond // maximum delay of an acknowledgement after the commit

	BatchEvents = 256 // maximum number of events in one commit
	BatchBytes  = 1 << 20

	MachineEventRate, MachineBurst = 5000, 10_000 // rate of a machine's events per second, and their burst; a server does not read a machine faster
	// Backlog is the maximum number of events, announced by a reconnecting machine, that are read
	// at full speed.
	Backlog                   = 1_000_000
	CommandRate, CommandBurst = 50, 100 // commands per second and session, and their burst
	MaxConcurrentRPCs         = 16      // maximum number of concurrent RPCs in a session
	RPCTimeout                = 30 * time.Second
	MaxBashTimeout            = 600 * time.Second // the maximum of Bash.TimeoutS
	RPCRetention              = 10 * time.Minute

	InputTTL    = 900 * time.Second
	DecisionTTL = 24 * time.Hour // time that a decision waits for its machine if the request has no expiry

	MaxOpenRequests  = 20     // maximum number of open requests in a run
	MaxRunsOfMachine = 10_000 // maximum number of runs that are retained per machine
	RunsInHello      = 1000
	RunsInCursor     = 64 // maximum number of runs in the cursor of GET /events

	PairingTTL       = 600 * time.Second // time limit from the start of a pairing to its confirmation
	PairingTries     = 5                 // maximum number of codes that an owner may try per minute
	ProofTimeout     = 10 * time.Second  // time limit for a machine to prove its key
	MaxSubscriptions = 10                // maximum number of push subscriptions per user

	RetryFirst = 500 * time.Millisecond // maximum delay before the second retry
	MaxRetry   = 30 * time.Second

	HoleTimeout  = 60 * time.Second // time to wait for a missing event of a machine that uses protocol 1
	WriteTimeout = 30 * time.Second // a client is disconnected if a write to it blocks for this long
	HelloTimeout = 1 * time.Second  // a machine that has sent no hello within this time is accepted as a machine of protocol 1

	ReplicaHeartbeat = 1 * time.Second // interval at which a server writes its heartbeat
	// ReplicaLease is the time without a heartbeat after which a server is considered dead.
	ReplicaLease = 4 * time.Second
	ReplicaPoll  = 250 * time.Millisecond // interval at which a server polls for changes by other servers
	ReplicaCheck = 2 * time.Second        // interval of polling while NATS is connected
)

// FeatureSealed is the feature of a server that stores sealed events and key records (relay/seal).
// A machine sends the events of its sealed runs to no other server.
const FeatureSealed = "sealed-1"

// Redacted replaces text that may be a secret.
const Redacted = "***REDACTED***"

// RetryAfter returns the delay before the next attempt after tries failed attempts in a row. It is
// 0 for the first attempt. Later it is random, from 0 to 1, times a maximum that doubles with each
// attempt.
func RetryAfter(tries int, random float64) time.Duration {
	if tries == 0 {
		return 0
	}
	most := min(MaxRetry, RetryFirst<<min(tries-1, 10))
	return time.Duration(random * float64(most))
}
