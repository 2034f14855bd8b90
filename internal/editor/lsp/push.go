package lsp

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"runtime/debug"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/editor/analysis"
	"github.com/concerto-lang/concerto/internal/editor/lsp/protocol"
)

// A check starts at once after an edit. If edits follow each other in less than checkDelay, as when
// a client splits one change, it starts checkDelay after the last one, but at the latest maxWait
// after the first edit that no check has included. Code is generated verifyDelay after the last
// edit, because it rarely finds an error and takes as long as a check.
const (
	checkDelay  = 20 * time.Millisecond
	maxWait     = 200 * time.Millisecond
	verifyDelay = 200 * time.Millisecond
)

// pushState is the state of the checks and of publishing their diagnostics.
type pushState struct {
	timer                *time.Timer
	verifyTimer          *time.Timer
	verifyNext           bool      // generate code after the running check
	lastEdit             time.Time // zero if there was no edit
	since                time.Time // time of the first edit that no check has included
	waiting              bool
	firstUnpublishedEdit time.Time // time of the first edit without published diagnostics; zero if there is none
	check                *check    // the running check; nil if there is none
	sent                 map[protocol.DocumentURI]sent
}

// sent identifies the diagnostics of a file that the client has received.
type sent struct {
	id      string
	version int32 // version of the document; 0 for a file that is not open
}

// check is a running check.
type check struct {
	view   *view
	cancel func()
}

func (p *pushState) stop() {
	stopTimer(p.timer)
	stopTimer(p.verifyTimer)
	if p.check != nil {
		p.check.cancel()
	}
}

func stopTimer(t *time.Timer) {
	if t != nil {
		t.Stop()
	}
}

// checkSoon starts a check after an edit, or schedules it if another edit came shortly before.
func (s *server) checkSoon() {
	if s.phase != running {
		return
	}
	p, now := &s.push, time.Now()
	if p.firstUnpublishedEdit.IsZero() {
		p.firstUnpublishedEdit = now
	}
	if !p.waiting {
		p.waiting, p.since = true, now
	}
	stopTimer(p.timer)
	stopTimer(p.verifyTimer)
	p.verifyTimer = s.after(verifyDelay, s.verifyNow)
	isFirst := now.Sub(p.lastEdit) >= checkDelay
	p.lastEdit = now
	if isFirst {
		s.checkNow()
		return
	}
	p.timer = s.after(max(0, min(checkDelay, p.since.Add(maxWait).Sub(now))), s.checkNow)
}

// checkNow starts a check. If a check of an older view is running, it cancels that check and starts
// a new one afterwards. If no diagnostics were published for maxWait, it lets the running check
// finish, because an older result is better than none.
func (s *server) checkNow() {
	p := &s.push
	if s.phase != running || s.over {
		return
	}
	if p.check != nil {
		p.waiting = true // when the running check ends, it starts another one
		if time.Since(p.firstUnpublishedEdit) < maxWait {
			p.check.cancel()
		}
		return
	}
	p.waiting = false
	s.startCheck(s.options.diagnose)
}

// errNothingFound is the error of a check that found no new diagnostics. None are then published.
var errNothingFound = errors.New("the generated code has no errors")

// verifyNow generates the code of the edited programs, and publishes the errors that this finds.
func (s *server) verifyNow() {
	p := &s.push
	if p.verifyNext = p.check != nil || p.waiting; p.verifyNext || s.phase != running || s.over {
		return
	}
	s.startCheck(func(ctx context.Context, x *analysis.Snapshot) (map[string][]*diag.Diagnostic, error) {
		if found, err := x.Verify(ctx); err != nil || !found {
			return nil, cmp.Or(err, errNothingFound)
		}
		return s.options.diagnose(ctx, x)
	})
}

// startCheck runs a check in a goroutine and publishes the diagnostics that diagnose returns.
func (s *server) startCheck(diagnose diagnose) {
	p := &s.push
	ctx, cancel := context.WithCancel(context.Background())
	c := &check{s.view, cancel}
	p.check = c
	s.progress.begin(s)
	go func() {
		found, err := s.runCheck(ctx, c.view, diagnose)
		s.enqueue(func() {
			cancel()
			p.check = nil
			s.progress.end(s)
			if err == nil {
				s.publishDiagnostics(c.view, found)
				if p.firstUnpublishedEdit = (time.Time{}); p.waiting {
					p.firstUnpublishedEdit = time.Now()
				}
			}
			switch {
			case p.waiting:
				s.checkNow()
			case p.verifyNext:
				s.verifyNow()
			}
		})
	}()
}

// findings contains the diagnostics of each file in the form for the client.
type findings map[protocol.DocumentURI]protocol.List[protocol.Diagnostic]

// runCheck computes the diagnostics of a view. It reports a panic as a diagnostic.
func (s *server) runCheck(ctx context.Context, v *view, diagnose diagnose) (found findings, err error) {
	defer func() {
		if p := recover(); p != nil {
			stack := debug.Stack()
			found, err = v.failedFindings(p), nil
			s.enqueue(func() { s.reportCrash(v, "a check", p, stack) })
		}
	}()
	all, err := diagnose(ctx, v.snapshot)
	if err != nil {
		return nil, err
	}
	return v.findings(all), nil
}

func (v *view) findings(all map[string][]*diag.Diagnostic) findings {
	t, out := v.translation(), findings{}
	for _, path := range sortedKeys(all) {
		uri := v.uriOf(path)
		if (v.docs[uri] != nil || v.settings.Check.Unopened) && !v.server.isCached(path) {
			out[uri] = append(out[uri], t.diagnostics(all[path])...)
		}
	}
	return out
}

// failedFindings returns for each open file a diagnostic which reports that the check has failed.
func (v *view) failedFindings(p any) findings {
	out := findings{}
	for uri := range v.docs {
		out[uri] = protocol.List[protocol.Diagnostic]{internalErrorDiagnostic(p)}
	}
	return out
}

// internalErrorDiagnostic returns a diagnostic on the first line of a file, which reports that a
// check has failed.
func internalErrorDiagnostic(p any) protocol.Diagnostic {
	return protocol.Diagnostic{Severity: protocol.DiagnosticSeverityInformation, Source: product, Message: bugText(p)}
}

// publishDiagnostics publishes the diagnostics that have changed. If files other than the edited
// one have changed, it asks a client that pulls diagnostics to refresh them.
func (s *server) publishDiagnostics(v *view, found findings) {
	p := &s.push
	if p.sent == nil {
		p.sent = map[protocol.DocumentURI]sent{}
	}
	elsewhere := false
	for _, uri := range sortedKeys(found) {
		items := found[uri]
		now := sent{id: resultID(items)}
		d := v.docs[uri]
		if d != nil {
			now.version = d.version
		}
		was, ok := p.sent[uri]
		p.sent[uri] = now
		switch {
		case s.view.docs[uri] == nil && d != nil: // the document was closed after the check began; the next check publishes its diagnostics
			p.sent[uri] = was
		case s.view.client.pulls():
			elsewhere = elsewhere || ok && was.id != now.id && was.version == now.version || !ok && d == nil && len(items) > 0
		case was == now && ok, !ok && d == nil && len(items) == 0:
		default:
			s.publish(uri, d, items)
		}
	}
	for _, uri := range sortedKeys(p.sent) {
		if _, still := found[uri]; !still {
			delete(p.sent, uri)
			elsewhere = true
			if !s.view.client.pulls() {
				s.publish(uri, nil, nil)
			}
		}
	}
	if elsewhere && s.view.client.pulls() && deref(deref(s.view.client.Workspace).Diagnostics).RefreshSupport {
		s.ask(protocol.MethodWorkspaceDiagnosticRefresh, nil, nil)
	}
}

func (s *server) publish(uri protocol.DocumentURI, d *document, items protocol.List[protocol.Diagnostic]) {
	p := protocol.PublishDiagnosticsParams{URI: uri, Diagnostics: items}
	if d != nil {
		p.Version = &d.version
	}
	s.notify(protocol.MethodTextDocumentPublishDiagnostics, p)
}

// sortedKeys returns the sorted keys of a map.
func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
