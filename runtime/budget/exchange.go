package budget

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/models"
)

// HostLimits are the limits on what a host uses; 0 means no limit. Exchange and Turns limit one
// exchange, Run all exchanges of the run. Reserve is what an exchange reserves; 0 means the
// default.
type HostLimits struct {
	Section  string // name of the host's section in the manifest, such as "coder"
	Exchange Amount
	Run      Amount
	Turns    int64
	Reserve  Amount
	// Silent means that the host may never report what it uses. After an exchange without a report
	// nothing is reserved for it.
	Silent bool
}

// Default reservations of an exchange, and what an exchange is expected to use at most as long as
// no exchange of its host has ended.
const (
	defaultReserveTokens = 50_000
	defaultReserveCents  = 50
	unknownNeed          = 10 // times the default reservation
)

// Refused is the error of an exchange that a limit does not allow. Code is "limit_cost",
// "limit_tokens" or "limit_turns".
type Refused struct{ Code, Message string }

func (e *Refused) Error() string { return e.Message }

// HostUsage is the usage of a host in a run. It does not count failures, which depend on what the
// program receives. An exchange without a report of the cost or tokens is estimated: it counts as
// reserved.
type HostUsage struct {
	Host    string
	Refused int64 // exchanges that a limit did not allow
	Stopped int64 // exchanges that a limit stopped
	Turns   int64
	models.Sum
}

// spending is what hosts use.
type spending struct {
	hosts   map[string]*hostState
	byHosts Amount // used by all hosts
	held    Amount // reserved by exchanges and not used
	// unknown are the exchanges that run before it is known what their hosts need, with what they
	// are expected to use at most.
	unknown map[*Exchange]Amount
	// blocked are exchanges whose handler waits for a reservation, with the number of such handlers
	blocked map[*Exchange]int
}

// hostState is what a host of the run uses.
type hostState struct {
	HostLimits
	usage  HostUsage
	held   Amount // reserved by exchanges and not used
	silent bool   // an exchange has ended without a report
	needed Use    // the most that an ended exchange has used
}

// AddHost adds a host before its first exchange.
func (b *Budget) AddHost(name string, l HostLimits) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.hosts[name] = &hostState{HostLimits: l, usage: HostUsage{Host: name}}
}

// HostUsage returns the usage of each host that had an exchange, sorted by name.
func (b *Budget) HostUsage() (each []HostUsage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range b.hosts {
		if h.usage.Exchanges+h.usage.Refused > 0 {
			each = append(each, h.usage)
		}
	}
	slices.SortFunc(each, func(x, y HostUsage) int { return cmp.Compare(x.Host, y.Host) })
	return each
}

// Exchange is the reservation of an exchange of a host. It is safe for concurrent use.
type Exchange struct {
	budget *Budget
	host   *hostState
	key    string
	within []*Exchange // exchanges that cannot end before this one

	used     Use
	before   Use    // what earlier processes of the run have stored for the day
	stored   Use    // what is stored for the day
	amount   Amount // what the exchange reserves at once
	expected Amount // what it is expected to use at most, if that is unknown
	reserved Amount // what it has reserved so far, including what it has used
	stopped  bool
	closed   bool
}

// Request describes an exchange that is about to begin. Key identifies it in all processes of the
// run; "" lets the budget choose one. Within are the exchanges that cannot end before this one.
// Acquire, if it is set, is called before each attempt to reserve, and Release before a wait and
// after a failure: what an exchange needs besides its reservation is not held while it waits, so
// that two exchanges cannot wait for each other.
type Request struct {
	Host, Key string
	Within    []*Exchange
	Acquire   func(ctx context.Context) error
	Release   func()
}

// OpenExchange reserves what an exchange may use. While other exchanges hold what it needs, it
// waits; waits is then called once with the reason. If they do not hold enough, the error is a
// *Refused. Close must be called after the exchange.
func (b *Budget) OpenExchange(ctx context.Context, r Request, waits func(why string)) (*Exchange, error) {
	x := &Exchange{budget: b, key: r.Key, within: r.Within}
	if x.key == "" {
		x.key = b.day.nextKey("host")
	}
	waiting := false
	giveUp := func(err error) (*Exchange, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		x.unblock(&waiting)
		return nil, err
	}
	for {
		if r.Acquire != nil {
			if err := r.Acquire(ctx); err != nil {
				return giveUp(err)
			}
		}
		why, wait, err := x.open(r.Host, &waiting)
		if wait == nil && err == nil {
			return x, nil
		}
		if r.Release != nil {
			r.Release()
		}
		if err != nil {
			return nil, err
		}
		if waits != nil {
			waits(why)
			waits = nil
		}
		if err := b.await(ctx, wait); err != nil {
			return giveUp(err)
		}
	}
}

// open reserves, or returns a channel that is closed when it may try again.
func (x *Exchange) open(host string, waiting *bool) (why string, wait <-chan struct{}, err error) {
	b := x.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	x.host = b.host(host)
	marks := !*waiting
	uerr := b.day.update(func(d *Day) {
		if marks {
			*waiting = true
			for _, outer := range x.within {
				b.blocked[outer]++
			}
		}
		var refused *Refused
		if why, refused = x.reserve(d); refused != nil {
			x.host.usage.Refused++
			err = refused
			return
		}
		if why != "" {
			return
		}
		b.hold(x, x.amount)
		x.setUnknown()
		x.host.usage.Exchanges++
		if x.amount != (Amount{}) || b.day.Days != nil {
			d.Hold = &Hold{Key: x.key, Amount: x.amount}
		}
	})
	if uerr != nil {
		b.change(x, func() { x.reserved = Amount{} })
		delete(b.unknown, x)
		why, err = "", uerr
	}
	if why != "" && err == nil {
		wait = b.nextEnd()
		if len(x.within) > 0 && marks {
			// Exchanges that wait for the reservation of one that is now blocked must decide again.
			b.endWaits()
			wait = b.nextEnd()
		}
		return why, wait, nil
	}
	x.unblock(waiting)
	return "", nil, err
}

// host returns the state of a host. The caller must hold the lock.
func (b *Budget) host(name string) *hostState {
	h := b.hosts[name]
	if h == nil {
		h = &hostState{usage: HostUsage{Host: name}}
		b.hosts[name] = h
	}
	return h
}

// unblock ends the wait of x. The caller must hold the lock.
func (x *Exchange) unblock(waiting *bool) {
	if !*waiting {
		return
	}
	*waiting = false
	for _, outer := range x.within {
		if x.budget.blocked[outer]--; x.budget.blocked[outer] <= 0 {
			delete(x.budget.blocked, outer)
		}
	}
}

// bound is a limit that applies to an exchange, in picodollars or tokens.
type bound struct {
	key    string // in the manifest
	level  int    // index in unit.keys
	limit  int64
	used   int64
	held   int64    // reserved by others and not used
	models int64    // of held, what model calls have reserved
	lost   int64    // of used, what runs have reserved that no process runs
	runs   []string // their ids
}

// usage describes what is used and, if it is not the same, reserved.
func (l *bound) usage(u *unit) string {
	text := u.pair(l.used-l.lost, l.limit) + " used"
	if l.lost > 0 {
		text += fmt.Sprintf(", %s reserved by %s", u.one(l.lost), namesOf(l.runs))
	}
	return text
}

// namesOf returns "run A", "runs A and B" or "runs A, B and 7 more".
func namesOf(runs []string) string {
	switch n := len(runs); n {
	case 1:
		return "run " + runs[0]
	case 2:
		return "runs " + runs[0] + " and " + runs[1]
	case 3:
		return "runs " + runs[0] + ", " + runs[1] + " and " + runs[2]
	default:
		return fmt.Sprintf("runs %s, %s and %d more", runs[0], runs[1], n-2)
	}
}

// unit describes money or tokens in bounds.
type unit struct {
	of       func(Amount) int64
	code     string
	reserve  string // key of the reservation in the manifest
	standard int64  // default reservation
	pair     func(used, limit int64) string
	one      func(int64) string
	keys     [4]string // of the exchange, the host, the run and the day
}

var units = [...]unit{
	{of: func(a Amount) int64 { return int64(a.Cost) }, code: "limit_cost", reserve: "reserve_usd", standard: defaultReserveCents * dollar / 100,
		pair: func(used, limit int64) string { return fmt.Sprintf("$%s of $%s", Money(used), Money(limit)) },
		one:  func(n int64) string { return "$" + Money(n).String() },
		keys: [4]string{"cost_usd", "run_cost_usd", "max_cost_usd", "max_day_cost_usd"}},
	{of: func(a Amount) int64 { return a.Tokens }, code: "limit_tokens", reserve: "reserve_tokens", standard: defaultReserveTokens,
		pair: func(used, limit int64) string { return fmt.Sprintf("%d of %d tokens", used, limit) },
		one:  func(n int64) string { return fmt.Sprintf("%d tokens", n) },
		keys: [4]string{"tokens", "run_tokens", "max_tokens", "max_day_tokens"}},
}

// bounds returns the limits of one unit that apply to x. The caller must hold the lock.
func (x *Exchange) bounds(u *unit, d *Day) []bound {
	b, h := x.budget, x.host
	own := u.of(x.remaining())
	var all []bound
	add := func(i int, section string, limit Amount, used, held, models Amount) {
		if l := u.of(limit); l > 0 {
			key := fmt.Sprintf("[%s] %s", section, u.keys[i])
			if u.keys[i] == "max_cost_usd" {
				key = b.costLimit()
			}
			all = append(all, bound{key: key, level: i, limit: l, used: u.of(used), held: max(u.of(held)-own, 0) + u.of(models), models: u.of(models)})
		}
	}
	section := "hosts." + tomlKey(h.Section) + ".limits"
	models := Amount{b.underway.cost, b.underway.tokens}
	add(0, section, h.Exchange, x.used.amount(), x.remaining(), Amount{})
	add(1, section, h.Run, h.used(), h.held, Amount{})
	add(2, "limits", Amount{b.cost, b.tokens}, b.known(), b.held, models)
	add(3, "limits", b.day.Amount, d.known(), d.HeldHosts, d.HeldModels)
	if n := len(all); n > 0 && all[n-1].level == 3 {
		all[n-1].lost, all[n-1].runs = u.of(d.Lost), d.LostRuns
	}
	return all
}

func (h *hostState) used() Amount {
	return Amount{Money(h.usage.Cost), h.usage.Tokens()}
}

// remaining returns what the exchange has reserved and not used.
func (x *Exchange) remaining() Amount {
	if x.closed {
		return Amount{}
	}
	return x.reserved.minus(x.used.amount()).atLeastZero()
}

// reserve sets the amount that x reserves. why is not "" if x must wait for others. The caller must
// hold the lock.
func (x *Exchange) reserve(d *Day) (why string, refused *Refused) {
	x.amount, x.expected = Amount{}, Amount{}
	if x.host.Silent && x.host.silent {
		return "", nil
	}
	var amounts, expected [len(units)]int64
	for i := range units {
		u := &units[i]
		all := x.bounds(u, d)
		if len(all) == 0 {
			continue // without a limit nothing is reserved
		}
		amount := cmp.Or(u.of(x.host.Reserve), u.of(x.host.Exchange))
		if amount == 0 {
			amount = max(u.standard, u.of(x.host.needed.amount()))
			if x.host.needed == (Use{}) {
				expected[i] = unknownNeed * u.standard
			}
			for _, l := range all {
				if room := l.limit - l.used; room > 0 {
					amount = min(amount, room)
				}
			}
		}
		for j := range all {
			l := &all[j]
			if l.used+amount > l.limit || l.used+x.stuckIn(u, l)+amount > l.limit {
				text := fmt.Sprintf("cannot start host '%s': %s (%s), ", x.host.usage.Host, l.usage(u), l.key)
				if l.used+amount <= l.limit {
					text += fmt.Sprintf("exchanges that wait for this one hold %s, ", u.one(x.stuckIn(u, l)))
				}
				return "", &Refused{u.code, text + "and an exchange reserves " + u.one(amount)}
			}
			if why == "" && l.used+l.held+amount > l.limit {
				why = fmt.Sprintf("waits for %s: %s and %s reserved (%s)", u.one(amount), l.usage(u), u.one(l.held), l.key)
			}
			if may := x.unknownIn(u, l); why == "" && expected[i] > 0 && may > 0 && l.used+l.held+may+expected[i] > l.limit {
				why = fmt.Sprintf("waits until an exchange has shown what it uses: %s and %s reserved (%s); [hosts.%s.limits] %s starts more at once",
					l.usage(u), u.one(l.held), l.key, tomlKey(x.host.Section), u.reserve)
			}
		}
		amounts[i] = amount
	}
	x.amount = Amount{Money(amounts[0]), amounts[1]}
	x.expected = Amount{Money(expected[0]), expected[1]}
	return why, nil
}

// setUnknown records that x runs before it is known what its host needs. The caller must hold the
// lock.
func (x *Exchange) setUnknown() {
	if x.expected != (Amount{}) {
		x.budget.unknown[x] = x.expected
	}
}

// unknownIn returns what exchanges of unknown need may use of a limit of the host or the run beyond
// what they have reserved. If exchanges started without regard to it, all of them could reach the
// limit and none its end. Those that wait for x are left out. The caller must hold the lock.
func (x *Exchange) unknownIn(u *unit, l *bound) (sum int64) {
	for y, expected := range x.budget.unknown {
		if (l.level == 1 && y.host == x.host || l.level == 2) && !slices.Contains(x.within, y) {
			sum += max(0, u.of(expected.minus(y.used.amount()).minus(y.remaining())))
		}
	}
	return sum
}

// stuckIn returns what the exchanges hold that are not released while x waits, because their
// handlers wait for x or for another waiting exchange. The caller must hold the lock.
func (x *Exchange) stuckIn(u *unit, l *bound) (sum int64) {
	if l.held == 0 {
		return 0
	}
	for p := range x.budget.blocked {
		if l.level > 1 || l.level == 1 && p.host == x.host {
			sum += u.of(p.remaining())
		}
	}
	return min(sum, l.held)
}

// hold reserves more for x. The caller must hold the lock.
func (b *Budget) hold(x *Exchange, more Amount) {
	b.change(x, func() { x.reserved = x.reserved.plus(more) })
}

// change changes x and updates the sums of reservations and use. The caller must hold the
// lock.
func (b *Budget) change(x *Exchange, do func()) {
	held, used := x.remaining(), x.used
	do()
	h := x.host
	delta := x.remaining().minus(held)
	h.held, b.held = h.held.plus(delta), b.held.plus(delta)
	h.usage.Cost += int64(x.used.Cost - used.Cost)
	h.usage.TokensIn += x.used.In - used.In
	h.usage.TokensOut += x.used.Out - used.Out
	h.usage.Turns += x.used.Turns - used.Turns
	b.byHosts = b.byHosts.plus(x.used.amount().minus(used.amount()))
}

// Report sets what the exchange has used so far. If it has used its reservation, it reserves more.
// If that does not fit, the result is the reason why the exchange must be stopped. Report may also
// be called after Close.
func (x *Exchange) Report(now Use) *Refused {
	b := x.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if now == x.used {
		return nil
	}
	fewer := now.Cost < x.used.Cost
	b.change(x, func() { x.used = now })
	var refused *Refused
	decide := func(d *Day) {
		if !x.closed && !x.stopped {
			refused = x.grow(d)
		}
		if d.Hold != nil {
			d.Hold.Amount = x.reserved
		}
	}
	if b.day.Days == nil {
		decide(&Day{})
	} else if err := b.day.Report(x.key, x.unstored(), x.closed, decide); err != nil {
		refused = &Refused{"limit_cost", fmt.Sprintf("stopped host '%s': could not store what it used: %v", x.host.usage.Host, err)}
	}
	if fewer {
		b.endWaits()
	}
	if refused != nil {
		x.stopped = true
		x.host.usage.Stopped++
	}
	return refused
}

// grow reserves more if x has used its reservation. The caller must hold the lock.
func (x *Exchange) grow(d *Day) *Refused {
	h := x.host
	if h.Turns > 0 && x.used.Turns > h.Turns {
		return &Refused{"limit_turns", fmt.Sprintf("stopped host '%s': it used %d of %d turns ([hosts.%s.limits] turns)", h.usage.Host, x.used.Turns, h.Turns, tomlKey(h.Section))}
	}
	var more Amount
	for i := range units {
		u := &units[i]
		all := x.bounds(u, d)
		if len(all) == 0 {
			continue
		}
		over := u.of(x.used.amount()) - u.of(x.reserved)
		room := int64(math.MaxInt64)
		for j := range all {
			l := &all[j]
			// Model calls may have reserved what this exchange holds.
			if l.used+l.models > l.limit || over > 0 && l.used+l.held > l.limit {
				return x.exceeded(u, l)
			}
			room = min(room, l.limit-l.used-l.held)
		}
		if over > 0 {
			grown := over
			if amount := u.of(x.amount); amount > 0 {
				// the next multiple of the amount
				grown = (over + amount - 1) / amount * amount
			}
			grown = over + min(grown-over, max(room, 0))
			if i == 0 {
				more.Cost = Money(grown)
			} else {
				more.Tokens = grown
			}
		}
	}
	x.budget.hold(x, more)
	return nil
}

// exceeded returns the reason why x must stop.
func (x *Exchange) exceeded(u *unit, l *bound) *Refused {
	text := fmt.Sprintf("%s used", u.pair(l.used, l.limit))
	if l.used == u.of(x.used.amount()) {
		text = "it used " + u.pair(l.used, l.limit)
	}
	if l.used <= l.limit {
		text += fmt.Sprintf(" and %s reserved by others", u.one(l.held))
	}
	return &Refused{u.code, fmt.Sprintf("stopped host '%s': %s (%s)", x.host.usage.Host, text, l.key)}
}

// unstored returns what is not stored for the day, which the caller must store. The caller must
// hold the lock.
func (x *Exchange) unstored() Use {
	now := x.used.atLeast(x.before)
	more := now.minus(x.stored)
	x.stored = now
	return more
}

// Cancel ends the reservation of an exchange that has not begun, and does not count it.
func (x *Exchange) Cancel() {
	x.Close(false, false)
	x.budget.mu.Lock()
	defer x.budget.mu.Unlock()
	x.host.usage.Exchanges--
}

// Close ends the reservation. noCost and noTokens are true if the host has ended the exchange
// without a report of its cost, or of its tokens: it has then used what is reserved of it, unless
// it is a host that need not report. The result is what is so counted.
func (x *Exchange) Close(noCost, noTokens bool) (charged Amount) {
	b := x.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if x.closed {
		return Amount{}
	}
	if !x.host.Silent {
		before := x.used
		b.change(x, func() {
			if noCost {
				x.used.Cost = max(x.used.Cost, x.reserved.Cost)
			}
			if noTokens {
				x.used.Out = max(x.used.Out, x.reserved.Tokens-x.used.In)
			}
		})
		if x.used != before {
			x.host.usage.Estimated++
			charged = x.used.amount().minus(before.amount())
		}
	}
	b.change(x, func() { x.closed = true })
	delete(b.unknown, x)
	x.host.silent, x.host.needed = x.host.silent || noCost && noTokens, x.host.needed.atLeast(x.used)
	b.endDay(x.key, x.unstored())
	b.endWaits()
	return charged
}

// ResumeExchange reserves for an exchange that an earlier process of the run has begun. used is
// what the run has recorded and ChargeHost has already counted.
func (b *Budget) ResumeExchange(host, key string, used Use) (*Exchange, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	x := &Exchange{budget: b, host: b.host(host), key: key, used: used}
	err := b.day.update(func(d *Day) {
		if _, refused := x.reserve(d); refused != nil { // the exchange has already begun
			x.amount = Amount{cmp.Or(x.host.Reserve.Cost, x.host.Exchange.Cost), cmp.Or(x.host.Reserve.Tokens, x.host.Exchange.Tokens)}
		}
	})
	if err == nil && b.day.Days != nil {
		x.before, err = b.day.Adopt(key)
		x.stored = x.used.atLeast(x.before)
	}
	b.change(x, func() { x.reserved = x.used.amount().plus(x.amount) })
	x.setUnknown()
	return x, err
}

// ChargeHost counts what earlier processes of the run have recorded of a host.
func (b *Budget) ChargeHost(host string, more models.Sum, turns int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.host(host)
	h.usage.Add(more)
	h.usage.Turns += turns
	b.byHosts = b.byHosts.plus(Amount{Money(more.Cost), more.Tokens()})
}

// Resumed ends the reservations of earlier processes of the run, except those of resumed exchanges.
func (b *Budget) Resumed() error {
	if b.day.Days == nil {
		return nil
	}
	return b.day.DropOthers()
}
