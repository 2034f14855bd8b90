package protocol

import "time"

// The limits that both ends know. Those of single fields stand with the fields.
const (
	MaxFrame       = 4 << 20 // bytes of a frame
	MaxDepth       = 64      // of arrays and objects in each other
	MaxSeq         = 1<<53 - 1
	MaxBadMessages = 20   // a minute and connection
	Window         = 1000 // events that a host may have sent and that are not acknowledged

	PingAfter = 20 * time.Second // of silence before a ping
	DeadAfter = 45 * time.Second // without a frame

	AcksASecond = 50                     // a run, at most
	AckWithin   = 200 * time.Millisecond // of the commit

	BatchEvents = 256 // of one commit
	BatchBytes  = 1 << 20

	HostEvents, HostBurst   = 5000, 10_000 // a second: a host is read no faster
	Backlog                 = 1_000_000    // events that a host announced in its hello, which are read as fast as they are stored
	CommandRate, CommandMax = 50, 100      // commands of a session a second, and at once
	RPCsAtOnce              = 16           // of a session
	RPCWithin               = 30 * time.Second
	RPCRemembered           = 10 * time.Minute

	InputTTL    = 900 * time.Second
	DecisionTTL = 24 * time.Hour // when the request does not say when it expires

	OpenRequests = 20     // of a run
	RunsOfHost   = 10_000 // that are remembered
	RunsInHello  = 1000
	RunsInCursor = 64 // of GET /events

	PairingFor    = 600 * time.Second // from its start to its confirmation
	PairingTries  = 5                 // of codes a minute and owner
	ProveWithin   = 10 * time.Second  // a host that connects by its key
	Subscriptions = 10                // to push messages, of a user

	RetryFirst = 500 * time.Millisecond // before a lost connection is tried again a second time, at most
	RetryMost  = 30 * time.Second

	HoleWait   = 60 * time.Second // for a host of protocol 1
	SlowWrite  = 30 * time.Second // a client that takes so long is closed
	TakeWithin = 1 * time.Second  // a host without hello is taken then

	ReplicaBeat  = 1 * time.Second        // how often a server says that it lives
	ReplicaLease = 4 * time.Second        // after so long without that it is taken for dead
	ReplicaPoll  = 250 * time.Millisecond // how often a server looks for what others have done
	ReplicaCheck = 2 * time.Second        // the same while NATS tells of it
)

// Redacted stands in the place of what was taken out because it is secret by its form.
const Redacted = "***REDACTED***"

// RetryAfter is how long who has lost a connection waits after so many tries in a row that failed:
// nothing, then a random part, from 0 to 1, of what is doubled each time.
func RetryAfter(tries int, random float64) time.Duration {
	if tries == 0 {
		return 0
	}
	most := min(RetryMost, RetryFirst<<min(tries-1, 10))
	return time.Duration(random * float64(most))
}
