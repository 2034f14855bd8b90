package postgres

import (
	"flag"
	"strconv"
	"testing"

	"github.com/concerto-lang/concerto/internal/testkit/pgtest"
)

// server returns the URL of a database on the server that all tests share. databases counts those
// that have been created.
var (
	server    func(database string) string
	databases int
)

// TestEngine runs the tests that need a server. Each one has its own databases.
func TestEngine(t *testing.T) {
	server = pgtest.Start(t)
	flag.Visit(func(f *flag.Flag) { areChecksGiven = areChecksGiven || f.Name == "rapid.checks" })
	for _, x := range []struct {
		name string
		test func(*testing.T)
	}{
		{"roles denied", testRolesDenied}, // before other tests create the roles, which belong to the server
		{"not reachable", testNotReachable},
		{"init", testInit}, {"roles", testRoles}, {"init races", testInitRacing}, {"init races on a server", testInitRacingServer}, {"upgrade", testUpgrade}, {"schema versions", testSchemaVersions},
		{"cut connections", testCutConnections}, {"commit together", testCommitTogether}, {"commit cuts", testCommitCuts}, {"server crash", testServerCrash}, {"fenced", testFenced},
		{"close", testClose}, {"session", testSession}, {"session renews", testSessionRenews}, {"store", testStore}, {"claims", testClaims},
		{"claimable", testClaimable}, {"claim order", testClaimOrder}, {"claim hidden", testClaimHidden}, {"claim after a crash", testClaimCrash}, {"claims race", testClaimRacing}, {"lease", testLease},
		{"model", testModel}, {"mutants", testModelMutants},
		{"list", testList}, {"follow", testFollow}, {"why", testWhy}, {"manage", testManage},
	} {
		t.Run(x.name, x.test)
	}
}

// areChecksGiven means that the flag -rapid.checks is given.
var areChecksGiven bool

// limitChecks limits the number of random sequences, unless the flag -rapid.checks is given: each
// operation is a request to a server.
func limitChecks(t *testing.T, n int) {
	t.Helper()
	if areChecksGiven {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
}
