package budget

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// open opens an exchange and fails the test if that is refused.
func open(t *testing.T, b *Budget, host string, within ...*Exchange) *Exchange {
	t.Helper()
	x, err := b.OpenExchange(t.Context(), Request{Host: host, Within: within}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func usd(dollars float64) Use { return Use{Cost: Dollars(dollars)} }

// refusal opens an exchange that must be refused, and returns the code and the message.
func refusal(t *testing.T, b *Budget, host string, within ...*Exchange) string {
	t.Helper()
	_, err := b.OpenExchange(t.Context(), Request{Host: host, Within: within}, nil)
	refused, ok := errors.AsType[*Refused](err)
	if !ok {
		t.Fatalf("error = %v, want a refusal", err)
	}
	return refused.Code + ": " + refused.Message
}

// TestReservation checks what an exchange reserves, from its first reservation to its end.
func TestReservation(t *testing.T) {
	b := NewBudget(0, 5)
	b.AddHost("Coder", HostLimits{Section: "coder", Reserve: Amount{Cost: Dollars(0.5)}})
	x := open(t, b, "Coder")
	if x.Report(usd(4.2)) != nil {
		t.Error("stopped although the limit is not reached")
	}
	if x.reserved.Cost != Dollars(4.5) {
		t.Errorf("reserved = %s, want 4.50, a multiple of 0.50", x.reserved.Cost)
	}
	if x.Report(usd(4.8)) != nil || x.reserved.Cost != Dollars(5) {
		t.Errorf("reserved = %s, want 5.00", x.reserved.Cost)
	}
	x.Close(false, false)
	if got, want := refusal(t, b, "Coder"), "limit_cost: cannot start host 'Coder': $4.80 of $5.00 used ([limits] max_cost_usd), and an exchange reserves $0.50"; got != want {
		t.Errorf("refusal = %s, want %s", got, want)
	}
	b.AddHost("Any", HostLimits{Section: "any"}) // reserves what remains
	y := open(t, b, "Any")
	if y.reserved.Cost != Dollars(0.2) {
		t.Errorf("reserved = %s, want 0.20", y.reserved.Cost)
	}
	stopped := y.Report(usd(0.21))
	if want := "stopped host 'Any': $5.01 of $5.00 used ([limits] max_cost_usd)"; stopped == nil || stopped.Message != want {
		t.Errorf("stopped = %v, want %s", stopped, want)
	}
	if y.Report(usd(0.3)) != nil {
		t.Error("an exchange was stopped twice")
	}
	y.Close(false, false)
	y.Report(usd(0.4)) // the host reports more before it exits
	if _, all := b.Usage(); all.Calls != 0 || b.byHosts.Cost != Dollars(5.2) || b.held != (Amount{}) {
		t.Errorf("used = %s, held = %v, want 5.20 and nothing", b.byHosts.Cost, b.held)
	}
	want := []HostUsage{{Host: "Any", Stopped: 1, Sum: models.Sum{Exchanges: 1, Cost: int64(Dollars(0.4))}}, {Host: "Coder", Refused: 1, Sum: models.Sum{Exchanges: 1, Cost: int64(Dollars(4.8))}}}
	if d := cmp.Diff(want, b.HostUsage()); d != "" {
		t.Error(d)
	}
}

// TestCorrectedCost checks that a lower total, the actual cost after an estimate, replaces it.
func TestCorrectedCost(t *testing.T) {
	b := NewBudget(0, 1)
	b.AddHost("H", HostLimits{})
	x := open(t, b, "H")
	x.Report(Use{Cost: Dollars(0.4), In: 10})
	x.Report(Use{Cost: Dollars(0.3), In: 10})
	x.Close(false, false)
	if want := (Amount{Dollars(0.3), 10}); b.byHosts != want {
		t.Errorf("used = %v, want %v", b.byHosts, want)
	}
}

// TestUnreportedPart checks that an exchange counts what was reserved of the cost, or of the
// tokens, if its host has reported only the other.
func TestUnreportedPart(t *testing.T) {
	for _, c := range []struct {
		report           Use
		noCost, noTokens bool
		cost             Money
		tokens           int64
		estimated        int64
	}{
		{Use{In: 900, Out: 100}, true, false, Dollars(0.5), 1000, 1},
		{usd(0.2), false, true, Dollars(0.2), 50_000, 1},
		{Use{Cost: Dollars(0.2), In: 900, Out: 100}, false, false, Dollars(0.2), 1000, 0},
		{Use{Turns: 3}, true, true, Dollars(0.5), 50_000, 1},
	} {
		b := NewBudget(100_000, 1)
		b.AddHost("H", HostLimits{Reserve: Amount{Dollars(0.5), 50_000}})
		x := open(t, b, "H")
		if err := x.Report(c.report); err != nil {
			t.Fatal(err)
		}
		x.Close(c.noCost, c.noTokens)
		if u := b.HostUsage()[0]; Money(u.Cost) != c.cost || u.TokensIn+u.TokensOut != c.tokens || int64(u.Estimated) != c.estimated {
			t.Errorf("%+v: counted %+v", c.report, u)
		}
	}
}

// TestSilentHost checks that a host which may report nothing reserves only until it has ended an
// exchange without a report, and that nothing is reserved without a limit.
func TestSilentHost(t *testing.T) {
	b := NewBudget(100_000, 1)
	b.AddHost("H", HostLimits{Silent: true})
	x := open(t, b, "H")
	if want := (Amount{Dollars(0.5), 50_000}); x.reserved != want {
		t.Errorf("reserved = %v, want %v", x.reserved, want)
	}
	x.Close(true, true)
	y := open(t, b, "H")
	if y.reserved != (Amount{}) {
		t.Errorf("reserved = %v, want nothing", y.reserved)
	}
	if y.Report(usd(0.7)) != nil || y.Report(usd(1.1)) == nil {
		t.Error("a host that reports after all must be stopped at the limit, and not before")
	}
	free := NewBudget(0, 0)
	free.AddHost("H", HostLimits{})
	if x := open(t, free, "H"); x.reserved != (Amount{}) {
		t.Errorf("reserved = %v without a limit", x.reserved)
	}
}

// TestWaiting checks that an exchange waits while others hold what it needs, with a reason, and
// that an exchange on which the holder waits is refused.
func TestWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0, 1)
		b.AddHost("A", HostLimits{Reserve: Amount{Cost: Dollars(0.6)}})
		ended := open(t, b, "A")
		ended.Close(false, false)
		first := open(t, b, "A")
		if got, want := refusal(t, b, "A", first), "limit_cost: cannot start host 'A': $0.00 of $1.00 used ([limits] max_cost_usd), exchanges that wait for this one hold $0.60, and an exchange reserves $0.60"; got != want {
			t.Errorf("refusal = %s, want %s", got, want)
		}
		var why string
		opened := make(chan *Exchange)
		go func() {
			x, err := b.OpenExchange(t.Context(), Request{Host: "A"}, func(s string) { why = s })
			if err != nil {
				t.Error(err)
			}
			opened <- x
		}()
		synctest.Wait()
		if want := "waits for $0.60: $0.00 of $1.00 used and $0.60 reserved ([limits] max_cost_usd)"; why != want {
			t.Errorf("reason = %q, want %q", why, want)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error)
		go func() {
			_, err := b.OpenExchange(ctx, Request{Host: "A", Within: []*Exchange{ended}}, nil)
			failed <- err
		}()
		synctest.Wait()
		gone := errors.New("gone")
		cancel(gone)
		if err := <-failed; err != gone || len(b.blocked) != 0 {
			t.Errorf("error = %v with %d blocked exchanges, want the cause and none", err, len(b.blocked))
		}
		first.Report(usd(0.1))
		first.Close(false, false)
		second := <-opened
		second.Close(false, false)
		// A call of a model does not wait for hosts.
		third := open(t, b, "A")
		_, settle, err := b.Reserve(t.Context(), Call{Model: "m", Out: 85_000, Price: price(0, 10)})
		if err != nil {
			t.Fatal(err)
		}
		settle(used(Call{Price: price(0, 10)}, 0, 85_000, true, false))
		if stopped := third.Report(usd(0.2)); stopped == nil || !strings.Contains(stopped.Message, "$1.15 of $1.00 used") {
			t.Errorf("stopped = %v, want the limit of the run", stopped)
		}
		third.Close(false, false)
	})
}

// TestResume checks that the reservation of an exchange that an earlier process has begun counts,
// even if it does not fit any more.
func TestResume(t *testing.T) {
	b := NewBudget(0, 1)
	b.AddHost("A", HostLimits{Reserve: Amount{Cost: Dollars(0.6)}})
	b.ChargeHost("A", models.Sum{Exchanges: 1, Cost: int64(Dollars(0.7))}, 0)
	x, err := b.ResumeExchange("A", "k", usd(0.7))
	if err != nil || b.held.Cost != Dollars(0.6) || b.byHosts.Cost != Dollars(0.7) {
		t.Errorf("used = %s, held = %s, error %v, want 0.70 and 0.60", b.byHosts.Cost, b.held.Cost, err)
	}
	if x.Report(usd(0.9)) != nil || x.Report(usd(1.01)) == nil {
		t.Error("the exchange must be stopped at the limit of the run, and not before")
	}
	x.Close(false, false)
	if b.held != (Amount{}) {
		t.Errorf("held = %v at the end", b.held)
	}
}

// TestOneFinishes lets exchanges of random need begin together under a limit that is sufficient for
// each of them alone. They report in steps, all at the same pace. However many there are, one ends
// by itself.
func TestOneFinishes(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 54))
			needs, most := make([]float64, 2+r.IntN(9)), 0.0
			for i := range needs {
				needs[i] = 0.05 + r.Float64()*4
				most = max(most, needs[i])
			}
			limit, hosts := most+0.01+r.Float64()*4, 1+r.IntN(3)
			b := NewBudget(0, limit)
			for h := range hosts {
				b.AddHost(fmt.Sprint(h), HostLimits{Section: "h"})
			}
			var mu sync.Mutex
			var wg sync.WaitGroup
			finished := 0
			for i, need := range needs {
				wg.Go(func() {
					x, err := b.OpenExchange(t.Context(), Request{Host: fmt.Sprint(i % hosts)}, nil)
					if err != nil {
						return
					}
					defer x.Close(false, false)
					for used := 0.0; used < need; {
						time.Sleep(time.Second)
						used = min(used+0.05, need)
						if x.Report(usd(used)) != nil {
							return
						}
					}
					mu.Lock()
					defer mu.Unlock()
					finished++
				})
			}
			wg.Wait()
			if finished == 0 {
				t.Errorf("seed %d: no exchange ended by itself under a limit of $%.2f; they need %.2f", seed, limit, needs)
			}
		})
	}
}

// TestUnknownNeed checks which exchanges wait until one of their host has ended: those without a
// reservation in the manifest, under a limit that may be used up. Those in a handler of the first
// one, and those of hosts whose need is known, do not.
func TestUnknownNeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(0, 11)
		b.AddHost("A", HostLimits{Section: "a"})
		b.AddHost("Known", HostLimits{Section: "known", Reserve: Amount{Cost: Dollars(0.1)}})
		first := open(t, b, "A")
		open(t, b, "A", first).Close(false, false) // it has used nothing, so its need stays unknown
		open(t, b, "Known").Close(false, false)
		var why string
		opened := make(chan *Exchange, 2)
		for range 2 {
			go func() {
				x, err := b.OpenExchange(t.Context(), Request{Host: "A"}, func(s string) { why = s })
				if err != nil {
					t.Error(err)
				}
				opened <- x
			}()
		}
		synctest.Wait()
		// Eleven dollars are sufficient for two that are expected to use five.
		if len(opened) != 1 {
			t.Errorf("%d exchanges began beside the first one, want 1", len(opened))
		}
		if want := "waits until an exchange has shown what it uses: $0.00 of $11.00 used and $1.00 reserved ([limits] max_cost_usd); [hosts.a.limits] reserve_usd starts more at once"; why != want {
			t.Errorf("reason = %q, want %q", why, want)
		}
		first.Report(usd(2))
		first.Close(false, false)
		synctest.Wait()
		if len(opened) != 2 {
			t.Fatal("no exchange began after the first one had ended")
		}
		(<-opened).Close(false, false)
		if last := <-opened; last.reserved.Cost != Dollars(2) {
			t.Errorf("reserved = %s, want the 2.00 that the first one has used", last.reserved.Cost)
		}
	})
}

// memoryDay stores a day in memory. Several budgets, which represent processes, may share it.
type memoryDay struct {
	mu   *sync.Mutex
	used *Amount
	rows map[string]*Hold
	was  map[string]Use
	dead map[string]bool // rows of killed processes
	// name of the process, and whether it was killed
	name   string
	killed bool
}

var errKilled = errors.New("the process was killed")

func (d *memoryDay) totals() *Day {
	out := &Day{Used: *d.used}
	for key, h := range d.rows {
		rest := h.Amount.minus(d.was[key].amount()).atLeastZero()
		switch {
		case d.dead[key]:
			out.Lost = out.Lost.plus(rest)
			if run, _, _ := strings.Cut(key, " "); !slices.Contains(out.LostRuns, run) && rest != (Amount{}) {
				out.LostRuns = append(out.LostRuns, run)
			}
		case h.Model:
			out.HeldModels = out.HeldModels.plus(rest)
		default:
			out.HeldHosts = out.HeldHosts.plus(rest)
		}
	}
	return out
}

func (d *memoryDay) Update(do func(*Day)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed {
		return errKilled
	}
	now := d.totals()
	do(now)
	if h := now.Hold; h != nil {
		d.rows[d.name+h.Key], d.was[d.name+h.Key] = h, Use{}
	}
	return nil
}

func (d *memoryDay) Report(key string, more Use, ended bool, do func(*Day)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.killed {
		return errKilled
	}
	*d.used = d.used.plus(more.amount())
	key = d.name + key
	was := d.was[key]
	d.was[key] = Use{was.Cost + more.Cost, was.In + more.In, was.Out + more.Out, 0}
	if ended {
		delete(d.rows, key)
		return nil
	}
	now := d.totals()
	now.Hold = d.rows[key]
	do(now)
	return nil
}

func (d *memoryDay) Adopt(key string) (Use, error) { return d.was[d.name+key], nil }
func (d *memoryDay) DropOthers() error             { return nil }

// TestNeverExceeded lets fifty hosts of three processes report at random, and kills processes. The
// sums of each exchange, host, run and day never exceed their limits by more than one report of
// each running exchange.
func TestNeverExceeded(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { playExchanges(t, seed) })
		})
	}
}

func playExchanges(t *testing.T, seed uint64) {
	const processes, hosts, copies = 3, 17, 3
	step := Dollars(0.01)
	top := rand.New(rand.NewPCG(seed, 7))
	day := memoryDay{mu: new(sync.Mutex), used: new(Amount), rows: map[string]*Hold{}, was: map[string]Use{}, dead: map[string]bool{}}
	dayLimit, runLimit, hostLimit, exchangeLimit := Dollars(3+top.Float64()*6), Dollars(1+top.Float64()*4), Dollars(0.3+top.Float64()), Dollars(0.1+top.Float64()/2)
	var wg sync.WaitGroup
	budgets := make([]*Budget, processes)
	for process := range processes {
		d := day
		d.name = fmt.Sprint(process, " ")
		b := NewBudget(0, runLimit.USD())
		b.SetDay(&d, Amount{Cost: dayLimit})
		budgets[process] = b
		for h := range hosts {
			b.AddHost(fmt.Sprint(h), HostLimits{Section: "h", Exchange: Amount{Cost: exchangeLimit}, Run: Amount{Cost: hostLimit}})
		}
		ctx, kill := context.WithCancel(t.Context())
		for h := range hosts {
			for n := range copies {
				wg.Go(func() {
					r := rand.New(rand.NewPCG(seed, uint64(process*1000+h*10+n)))
					for range 8 {
						x, err := b.OpenExchange(ctx, Request{Host: fmt.Sprint(h)}, nil)
						if err != nil {
							return
						}
						now := Use{}
						for range r.IntN(200) {
							if ctx.Err() != nil {
								return // the process was killed, and the reservation remains
							}
							if now.Cost > exchangeLimit {
								t.Errorf("an exchange continued after it had used %s of %s", now.Cost, exchangeLimit)
							}
							now.Cost += Money(r.Int64N(int64(step) + 1))
							if x.Report(now) != nil {
								break
							}
						}
						if r.IntN(100) == 0 {
							kill()
							d.killAll()
							return
						}
						if ctx.Err() == nil {
							x.Close(false, false)
						}
					}
				})
			}
		}
		t.Cleanup(kill)
	}
	wg.Wait()
	for process, b := range budgets {
		if over := b.byHosts.Cost - b.cost; over > step*hosts*copies {
			t.Errorf("process %d exceeded the limit of its run by %s", process, over)
		}
		for _, u := range b.HostUsage() {
			if over := Money(u.Cost) - hostLimit; over > step*copies {
				t.Errorf("host %s of process %d exceeded its limit by %s", u.Host, process, over)
			}
		}
	}
	if over := day.used.Cost - dayLimit; over > step*processes*hosts*copies {
		t.Errorf("the day exceeded its limit by %s", over)
	}
}

// killAll marks the rows of a killed process.
func (d *memoryDay) killAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.killed = true
	for key := range d.rows {
		if strings.HasPrefix(key, d.name) {
			d.dead[key] = true
		}
	}
}
