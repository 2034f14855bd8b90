package sealer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/concerto-lang/concerto/relay/seal"
)

const day = 24 * time.Hour

// drop deletes the secrets that are not used, and checks which remain.
func (x *sealing) drop(what string, want ...int64) {
	x.t.Helper()
	if err := x.s.DropSecrets(context.Background()); err != nil {
		x.t.Fatal(err)
	}
	x.expectStored(what, want...)
}

// expectStored checks of which epochs the machine has stored the secrets.
func (x *sealing) expectStored(what string, want ...int64) {
	x.t.Helper()
	var got []int64
	for _, e := range x.stored() {
		got = append(got, e.N)
	}
	if !slices.Equal(got, want) {
		x.t.Errorf("%s: the machine has the secrets of the epochs %d, want %d", what, got, want)
	}
}

// expectRecords checks of which epochs the machine has stored the key records.
func (x *sealing) expectRecords(what string, want ...int64) {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.state, "seal", "keys.ndjson"))
	if err != nil {
		x.t.Fatal(err)
	}
	var got []int64
	for line := range bytes.Lines(text) {
		var k seal.KeyRecord
		if err := json.Unmarshal(line, &k); err != nil {
			x.t.Fatal(err)
		}
		got = append(got, k.Epoch)
	}
	if !slices.Equal(got, want) {
		x.t.Errorf("%s: the machine has the key records of the epochs %d, want %d", what, got, want)
	}
}

// days begins an epoch on each of n days, the last one now, and publishes them.
func (x *sealing) days(n int) {
	x.t.Helper()
	for range n {
		x.now = x.now.Add(day)
		x.epoch()
		x.sync()
	}
}

// TestDroppedSecrets deletes the secrets of the epochs of which no event is stored, and those of
// which the command keys are valid last.
func TestDroppedSecrets(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.days(5)
	x.keys.oldest = 3
	x.drop("runs of epoch 3", 3, 4, 5)
	x.open()
	x.epoch()
	x.sync()
	x.keys.oldest, x.spooled = 6, 4
	x.drop("an event of epoch 4 in the spool", 4, 5, 6)
	x.add("laptop", seal.Owner)
	x.reload()
	x.epoch()
	x.sync()
	x.expectKeys("laptop", 4, 5, 6, 7)
	x.spooled = 0
	x.drop("epochs that have just ended", 4, 5, 6, 7)
	x.now = x.now.Add(day)
	x.epoch()
	x.sync()
	x.keys.oldest = 9
	x.drop("a day later", 7, 8)
	x.days(3)
	x.keys.oldest = 99
	x.drop("a server that names a later epoch", 10, 11)
	x.open()
	if got := x.epoch(); got != 12 {
		t.Errorf("epoch = %d, want 12", got)
	}
	x.sync()
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12) // the server has all records
}

// TestSecretsRemain deletes nothing if it is not known which events are stored. The machine asks
// the server once in an epoch.
func TestSecretsRemain(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.days(4)
	x.drop("a server that does not know", 1, 2, 3, 4)
	x.keys.oldest = 4
	x.drop("a second time in the epoch", 1, 2, 3, 4)
	if x.keys.asked != 1 {
		t.Errorf("the server was asked %d times, want 1", x.keys.asked)
	}
	x.days(1)
	x.keys.older = true
	x.drop("an older server", 1, 2, 3, 4, 5)
	x.days(1)
	x.keys.offline = true
	if err := x.s.DropSecrets(context.Background()); err == nil {
		t.Error("no error, although the server is offline")
	}
	x.expectStored("offline", 1, 2, 3, 4, 5, 6)
	x.keys.older, x.keys.offline = false, false
	x.drop("the server is back", 4, 5, 6)
	asked := x.keys.asked
	x.drop("nothing can be deleted", 4, 5, 6)
	if x.keys.asked != asked {
		t.Error("the server was asked again")
	}
}

// TestDroppedRecords deletes the key records of deleted secrets after a month: a server that was
// restored from a backup needs the newer ones. One that others continue remains.
func TestDroppedRecords(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.days(3)
	x.now = x.now.Add(27 * day)
	x.days(1)
	x.keys.oldest = 4
	x.drop("a month after the first", 3, 4)
	x.expectRecords("a month after the first", 2, 3, 4)
	x.days(1)
	x.drop("a day later", 4, 5)
	x.expectRecords("a day later", 3, 4, 5)
	x.keys.records = x.keys.records[:3]
	x.open()
	x.sync() // the server was restored
	x.expectKeys("phone", 1, 2, 3, 4, 5, 6)
}

// TestChosenRecordRemains does not delete the key record that the next one continues, because the
// user has rejected the list of the later ones.
func TestChosenRecordRemains(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.days(1)
	base := x.roster.Text()
	x.add("rogue", seal.Owner)
	x.reload()
	x.days(2)
	x.now = x.now.Add(31 * day)
	x.days(1)
	var err error
	if x.roster, err = seal.ParseRoster(base, "", seal.Position{}); err != nil {
		t.Fatal(err)
	}
	x.append(x.roster.RemoveMember(seal.ByRecovery, x.recovery, x.devices["tablet"].id, x.now))
	x.keys.records = x.keys.records[:1]
	x.lines = x.rosterLines()
	x.keys.oldest = 4
	x.reload() // as seal status --resolve
	x.drop("before the next epoch", 3, 4)
	x.expectRecords("before the next epoch", 1, 2, 3, 4)
	x.sync()
	x.expectKeys("phone", 1, 5)
}

// TestSecretsDroppedTwice kills the machine between the two files. The next process deletes the
// secrets.
func TestSecretsDroppedTwice(t *testing.T) {
	t.Parallel()
	x := newSealing(t)
	x.days(3)
	x.now = x.now.Add(31 * day)
	x.days(2)
	file := filepath.Join(x.state, "seal", "epochs.json")
	epochs, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	x.keys.oldest = 5
	x.drop("five epochs", 4, 5)
	x.expectRecords("five epochs", 4, 5)
	x.put("epochs.json", epochs)
	x.open()
	x.epoch()
	x.sync()
	x.expectStored("after the start", 1, 2, 3, 4, 5, 6)
	x.drop("after the start", 4, 5, 6)
	x.expectRecords("after the start", 4, 5, 6)
}
