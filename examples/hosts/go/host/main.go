// A host that pretends to publish the next version of a package. It asks how large the change is,
// looks up the last version with the program's tool, and publishes only what it is allowed to
// publish.
package main

import (
	"fmt"
	"slices"

	"github.com/concerto-lang/concerto/sdk/go/host"
)

var places = []string{"major", "minor", "patch"}

func main() {
	host.Serve(publish, host.Capabilities("cancel"), host.Testable())
}

type release struct {
	Version string `json:"version"`
}

func publish(t *host.Task) (any, error) {
	t.Progress("looking up the last version", host.Percent(10))
	last, err := t.Call("last_version", map[string]string{"name": t.Text})
	if err != nil {
		return nil, err
	}
	size, err := t.Ask(host.Question{Text: fmt.Sprintf("%s %s is the last. How large is the change?", t.Text, last.Text()), Options: places})
	if err != nil {
		return nil, err
	}
	next, err := after(last.Text(), slices.Index(places, size.Text()))
	if err != nil {
		return nil, err
	}
	may, err := t.Approve(host.Approval{Description: "publish " + t.Text + " " + next.Version, Tool: "publish", Args: next, Kind: "execute", RiskLevel: "high"})
	if err != nil {
		return nil, err
	}
	if !may.Allow {
		return "not published: " + may.Reason, nil
	}
	if err := may.Input.Into(&next); err != nil {
		return nil, err
	}
	fmt.Println("this goes to the log, as a host's prints do")
	t.Partial("uploaded, ")
	return map[string]any{"text": t.Text + " " + next.Version + " is out", "version": next.Version}, nil
}

// after returns version with component number place incremented and all later components reset to
// 0. The components are numbered from 0.
func after(version string, place int) (release, error) {
	var n [3]int
	if _, err := fmt.Sscanf(version, "%d.%d.%d", &n[0], &n[1], &n[2]); err != nil || place < 0 {
		return release{}, fmt.Errorf("no version follows %q", version)
	}
	n[place]++
	clear(n[place+1:])
	return release{fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2])}, nil
}
