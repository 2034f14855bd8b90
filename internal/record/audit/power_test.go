package audit

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/sim/simdisk"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
)

// long is a record that does not fit into maxZeros.
var long = fmt.Sprintf("%q", strings.Repeat("x", 2*maxZeros))

// appendTwice appends records in one process after the other, until a process has appended its two
// records without a crash. It returns the ids of the records that were appended, in order.
func appendTwice(d *simdisk.Disk, args string) (ids []string, err error) {
	for start := 1; ; start++ {
		p := new(simdisk.OnlyProcess)
		l, err := Open("/logs/audit.log", Options{Bare: true, SyncEach: true, Owned: args == long, Disk: d.View(p).At})
		for n := 1; err == nil && n <= 2; n++ {
			id := fmt.Sprintf("%d.%d", start, n)
			if _, err = l.Append(call(id, args)); err == nil {
				ids = append(ids, id)
			}
		}
		if err == nil {
			err = l.Close()
		}
		if !p.IsDead() {
			return ids, err
		}
	}
}

// TestCrashes kills the process of a log, or cuts the power, at each operation of the disk. The log
// must verify and contain every record that Append has returned.
func TestCrashes(t *testing.T) {
	play := func(o simdisk.Options, args string) error {
		d := simdisk.New(o)
		d.MkdirAll("/logs")
		ids, err := appendTwice(d, args)
		if err != nil {
			return err
		}
		f, err := d.View(new(simdisk.OnlyProcess)).At("/logs").Open("audit.log", os.O_RDONLY, 0)
		if err != nil {
			return err
		}
		for line, err := range Lines(f, "audit.log") {
			if err != nil {
				return err
			}
			if len(ids) > 0 && line.subject().Call == ids[0] {
				ids = ids[1:]
			}
		}
		if len(ids) > 0 {
			return fmt.Errorf("the log lacks %q", ids)
		}
		return nil
	}
	total := 0
	for outcome := range simdisk.Outcome(simdisk.Outcomes) {
		for at := range 10 {
			for seed := range uint64(50) {
				if total++; !randtest.Sampled(total) {
					continue
				}
				args := "{}"
				if seed%2 == 1 {
					args = long
				}
				if err := play(simdisk.Options{Seed: seed, Faults: []simdisk.Fault{{At: at, Outcome: outcome}}}, args); err != nil {
					t.Fatalf("%s at operation %d, seed %d: %v", outcome, at, seed, err)
				}
			}
		}
	}
}
