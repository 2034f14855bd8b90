package daemon

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/relay/client/machineapi"
	"github.com/concerto-lang/concerto/relay/hostd/doctor"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
	"github.com/concerto-lang/concerto/relay/hostd/sealer"
	"github.com/concerto-lang/concerto/relay/seal"
	"github.com/concerto-lang/concerto/relay/web"
)

// pageInterval is the time between two checks of the server's page.
const pageInterval = 24 * time.Hour

// watchPage logs a warning if the page of the server is not that of this program, and if the
// certificate of hostd's page expires: now and each day.
func watchPage(ctx context.Context, a *console.Console, s *HostdSettings, log *slog.Logger) {
	tick := time.NewTicker(pageInterval)
	defer tick.Stop()
	for {
		for _, c := range pageChecks(ctx, a, s) {
			if c.Status != doctor.OK && ctx.Err() == nil {
				log.Warn(c.Detail, "do", c.Do)
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// pageChecks returns the checks of the pages that this machine's account uses.
func pageChecks(ctx context.Context, a *console.Console, s *HostdSettings) (all []doctor.Check) {
	for _, c := range []*doctor.Check{checkPage(ctx, s.state, s.Server), checkPageCert(a, s)} {
		if c != nil {
			all = append(all, *c)
		}
	}
	return all
}

// checkPage compares the page of the server with that of this program. It returns nil if no browser
// of the account depends on that page.
func checkPage(ctx context.Context, state, server string) *doctor.Check {
	if pairing, err := pair.Load(state); err == nil && pairing != nil {
		server = cmp.Or(server, pairing.Server)
	}
	base, err := machineapi.BaseURL(server)
	if err != nil {
		return nil // other checks report it
	}
	files, err := sealer.ReadFiles(state)
	if err != nil || files.Roster == nil || !slices.ContainsFunc(files.Roster.Members(), func(m seal.Member) bool { return m.Page == seal.PageServer }) {
		return nil
	}
	c := &doctor.Check{Name: "page", Status: doctor.OK, Detail: base + "/ is the page of this program"}
	different, err := web.Compare(ctx, base+"/", web.Apart(""))
	if err == nil && len(different) == 0 {
		return c
	}
	c.Status, c.Do = doctor.Warn, "concerto-relay page --verify "+base+", with the program of the server's release"
	if err != nil {
		c.Detail = "the page of the server could not be compared: " + err.Error()
		return c
	}
	c.Detail = "the page of the server is not that of this program: " + different[0]
	return c
}
