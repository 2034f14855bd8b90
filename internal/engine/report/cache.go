package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/models"
	"github.com/concerto-lang/concerto/internal/data/models/cachesim"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// CacheUse is how the requests of an agent to a model have used the provider's cache.
type CacheUse struct {
	Agent            string  `json:"agent"`
	Connection       string  `json:"connection"`
	Model            string  `json:"model"`
	Requests         int64   `json:"requests"`
	TokensIn         int64   `json:"tokens_in"`
	TokensCached     int64   `json:"tokens_cached"`
	TokensCacheWrite int64   `json:"tokens_cache_write"`
	Rate             float64 `json:"rate"` // TokensCached of TokensIn
	// Possible is the number of tokens that the same requests could have read.
	Possible int64           `json:"possible"`
	Lost     json.RawMessage `json:"lost_usd"` // by Breaks; null if the price is unknown
	Breaks   []*Break        `json:"breaks"`   // those that cost most; at most mostBreaks

	lost  int64 // in units of 10⁻¹² US dollars
	all   map[string]*Break
	price *models.Price
}

const mostBreaks = 20

// Break is a reason for which requests read less than the agent's previous requests contained.
type Break struct {
	Item     int   `json:"item"`     // the first request
	Requests int64 `json:"requests"` // number of requests
	// Byte is the first difference in the text of the previous request: tools, system text, schema
	// and messages. Before and After are what begins there, with the word in which it is.
	Byte   int             `json:"byte"`
	Part   string          `json:"part"` // of the request; with the name of a tool
	Before string          `json:"before"`
	After  string          `json:"after"`
	Cause  string          `json:"cause"`
	At     string          `json:"at,omitempty"` // FILE:LINE of the first request
	Lost   json.RawMessage `json:"lost_usd"`

	lost int64
}

// Causes of breaks.
const (
	causeTime     = "time"     // a time in a message differs
	causeRandom   = "random"   // a random text in a message differs
	causeTools    = "tools"    // the tools differ
	causeSystem   = "system"   // the system text differs
	causeSchema   = "schema"   // the schema of the reply differs
	causeMemory   = "memory"   // the memory has dropped messages
	causeContext  = "context"  // the agent's context differs
	causeMessage  = "message"  // another text of a message differs
	causeModel    = "model"    // the previous request was sent to another model
	causeExpired  = "expired"  // the provider has stored the text for too long
	causeParallel = "parallel" // the previous request was not answered
	causeShort    = "short"    // the model stores no text that is so short
	causeProvider = "provider" // the text was equal, and nevertheless not read
)

// leastLoss is the number of tokens from which on a difference is a break.
const leastLoss = 64

// sentRequest is a request to a model as it is compared with the next one.
type sentRequest struct {
	cachesim.Request
	item  *Item
	model string // with its connection
	text  string
}

// tokens returns the number of tokens of a part of the request.
func (q *sentRequest) tokens(size int) int64 {
	return q.Tokens * int64(size) / int64(max(len(q.text), 1))
}

// cachesOf are the simulated caches of a model.
type cachesOf struct{ actual, perfect *cachesim.Cache }

// SetCache sets the use of the providers' caches. Secrets must have been replaced in the requests.
// p may be nil.
func (r *Report) SetCache(p *ir.Program) {
	type section struct {
		models.Tariff
		hour, off bool
	}
	sections := map[string]section{}
	if p != nil {
		for _, c := range p.Connections {
			var of struct {
				Provider string
				BaseURL  string `json:"base_url"`
				Cache    string
				Prices   map[string]models.Rates
			}
			if json.Unmarshal(c.Config, &of) == nil {
				sections[c.Name] = section{models.Tariff{Provider: of.Provider, Address: of.BaseURL, Own: of.Prices}, of.Cache == models.CacheHour, of.Cache == models.CacheOff}
			}
		}
	}
	started := time.Time{}
	if r.Run.Started != nil {
		started, _ = time.Parse(time.RFC3339, *r.Run.Started) // unknown otherwise
	}
	uses, caches, previous := map[string]*CacheUse{}, map[string]cachesOf{}, map[string]*sentRequest{}
	for _, x := range sentItems(r.Items) {
		of := sections[x.Details.Connection]
		row := models.Lookup(of.Provider, x.Details.Model)
		if !row.Caches() || of.off {
			continue
		}
		if of.Provider == "" {
			of.Provider = row.Provider // in a transcript
		}
		rules := cachesim.RulesOf(row, of.hour)
		model := x.Details.Connection + "/" + x.Details.Model
		if caches[model].actual == nil {
			caches[model] = cachesOf{cachesim.New(rules), cachesim.New(rules.Perfect())}
		}
		use := uses[x.Name+" "+model]
		if use == nil {
			use = &CacheUse{Agent: x.Name, Connection: x.Details.Connection, Model: x.Details.Model, Breaks: []*Break{}, all: map[string]*Break{}, price: of.Price(x.Details.Model, started)}
			uses[x.Name+" "+model] = use
			r.Cache = append(r.Cache, use)
		}
		use.add(x)
		q := newSentRequest(x, model, row.CacheMin)
		if q == nil {
			continue
		}
		use.Possible += max(caches[model].perfect.Send(q.Request).Read, x.Details.Cached)
		read := caches[model].actual.Send(q.Request)
		if before := previous[x.Name]; before != nil {
			if b, tokens := findBreak(before, q, read, row.CacheMin); b != nil {
				use.lose(b, q, tokens, rules.Hour)
			}
		}
		previous[x.Name] = q
	}
	for _, use := range r.Cache {
		use.finish()
	}
}

// sentItems returns the requests to models that were answered, in the order of their starts.
func sentItems(items []*Item) (out []*Item) {
	for _, x := range items {
		if x.Kind == string(event.Model) && x.used.Calls > 0 && x.Details.TokensIn != nil {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b *Item) int {
		if a.Start == nil || b.Start == nil {
			return 0
		}
		return cmp.Compare(*a.Start, *b.Start)
	})
	return out
}

// newSentRequest returns the request of an item, or nil if the item does not contain it.
func newSentRequest(x *Item, model string, least int64) *sentRequest {
	var call effect.AgentCall
	if json.Unmarshal(x.Texts.Request, &call) != nil || len(call.Messages) == 0 {
		return nil
	}
	q := &sentRequest{item: x, model: model}
	q.Blocks, q.Tokens = cachesim.Layout(&call, least), *x.Details.TokensIn
	var text strings.Builder
	for i := range q.Blocks {
		text.WriteString(q.Blocks[i].Text)
	}
	q.text = text.String()
	if x.Start != nil && x.End != nil {
		q.Start, q.Ready = duration(*x.Start), duration(*x.End)
		if x.first > 0 {
			q.Ready = q.Start + x.first
		}
	}
	return q
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }

func (u *CacheUse) add(x *Item) {
	u.Requests++
	u.TokensIn += *x.Details.TokensIn
	u.TokensCached += x.Details.Cached
	u.TokensCacheWrite += x.Details.CacheWrite
}

// lose adds a break of a request that has paid for tokens which it could have read.
func (u *CacheUse) lose(b *Break, q *sentRequest, tokens int64, hour bool) {
	x := q.item
	if u.price != nil {
		paid := models.Usage{In: *x.Details.TokensIn, Parts: x.Details.Parts}
		if hour {
			paid.CacheWrite1h = paid.CacheWrite
		}
		less := paid
		less.Cached += tokens
		less.CacheWrite = max(0, less.CacheWrite-tokens)
		less.CacheWrite1h = min(less.CacheWrite1h, less.CacheWrite)
		cost, _ := models.Cost(paid, u.price)
		least, _ := models.Cost(less, u.price)
		b.lost = max(0, cost-least)
	}
	u.lost += b.lost
	key := fmt.Sprint(b.Cause, b.Part, b.Byte)
	first := u.all[key]
	if first == nil {
		first, b.Item = b, x.N
		if x.At != nil {
			b.At = (*x.At)[:strings.LastIndexByte(*x.At, ':')]
		}
		u.all[key] = b
		u.Breaks = append(u.Breaks, b)
	} else {
		first.lost += b.lost
	}
	first.Requests++
}

// finish computes the sums.
func (u *CacheUse) finish() {
	if u.TokensIn > 0 {
		u.Rate = float64(u.TokensCached*1000/u.TokensIn) / 1000
	}
	dollars := func(lost int64) json.RawMessage {
		if u.price == nil {
			return json.RawMessage("null")
		}
		return json.RawMessage(budget.Money(lost).String())
	}
	u.Lost = dollars(u.lost)
	slices.SortStableFunc(u.Breaks, func(a, b *Break) int { return cmp.Or(cmp.Compare(b.lost, a.lost), cmp.Compare(b.Requests, a.Requests)) })
	u.Breaks = u.Breaks[:min(len(u.Breaks), mostBreaks)]
	for _, b := range u.Breaks {
		b.Lost = dollars(b.lost)
	}
}

// findBreak compares a request with the previous one of its agent. It returns the reason for which
// it has not read what both contain, and how many tokens that are; nil if it has. read is the
// result of the simulation.
func findBreak(before, q *sentRequest, read cachesim.Result, least int64) (*Break, int64) {
	same := commonPrefix(before.text, q.text)
	from := wordStart(q.text, same)
	b := &Break{Byte: from, Before: excerpt(before.text[from:]), After: excerpt(q.text[from:])}
	part, was := q.blockAt(same), before.blockAt(same)
	if order(was.Part) < order(part.Part) {
		part = was
	}
	if b.Part = part.Part; part.Part == cachesim.Tools {
		b.Part += " " + part.Name
	}
	cached := q.item.Details.Cached
	missed := func(cause string, could int64) (*Break, int64) { b.Cause = cause; return b, could - cached }
	prefix, shared := q.tokens(same), int64(0)
	if same < len(before.text) {
		shared = q.tokens(commonText(before.text[same:], q.text[same:]))
	}
	switch all := prefix + shared; {
	case all < leastLoss:
		return nil, 0
	case all < least:
		b.Cause = causeShort
		return b, 0
	case before.model != q.model && all-cached >= leastLoss:
		return missed(causeModel, all)
	case shared >= leastLoss:
		b.Cause = causeOf(before, q, part, same)
		return b, shared
	case read.NotReady > read.Read && read.NotReady-cached >= leastLoss:
		return missed(causeParallel, read.NotReady)
	case read.Expired > read.Read && read.Expired-cached >= leastLoss:
		return missed(causeExpired, read.Expired)
	case read.Read-cached >= max(leastLoss, read.Read/10): // the simulation is an estimate
		return missed(causeProvider, read.Read)
	}
	return nil, 0
}

// order returns the place of a part in a request.
func order(part string) int {
	return slices.Index([]string{cachesim.Tools, cachesim.System, cachesim.Schema, cachesim.Message}, part)
}

// blockAt returns the block that contains a byte of the text, or the last one.
func (q *sentRequest) blockAt(at int) cachesim.Block { b, _ := q.find(at); return b }

// find is like blockAt, and returns where the block begins.
func (q *sentRequest) find(at int) (cachesim.Block, int) {
	start := 0
	for i := range q.Blocks {
		b := q.Blocks[i]
		if at < start+len(b.Text) || i == len(q.Blocks)-1 {
			return b, start
		}
		start += len(b.Text)
	}
	panic("report: a request without blocks")
}

// causeOf returns the cause of a difference in a part of two requests.
func causeOf(before, q *sentRequest, part cachesim.Block, at int) string {
	if part.Part != cachesim.Message {
		return map[string]string{cachesim.Tools: causeTools, cachesim.System: causeSystem, cachesim.Schema: causeSchema}[part.Part]
	}
	from := wordStart(q.text, at)
	if cause := changeOf(word(before.text[from:]), word(q.text[from:])); cause != "" {
		return cause
	}
	old, start := before.find(at)
	now := q.blockAt(at)
	next := false // whether a later message of the previous request is here now
	for _, b := range before.Blocks {
		if next && b.Part == cachesim.Message && b.Text == now.Text {
			return causeMemory
		}
		next = next || b == old
	}
	// stdlib/agent.conc writes the context
	if strings.Contains(before.text[start:at], "\nContext: ") {
		return causeContext
	}
	return causeMessage
}

// forms match words that change from call to call, once they are compiled.
var forms struct {
	once         sync.Once
	time, random *regexp.Regexp
}

// changeOf returns the cause of a difference between two words if both are times or random texts,
// or "".
func changeOf(was, is string) string {
	forms.once.Do(func() {
		forms.time = regexp.MustCompile(`\d\d\d\d-\d\d-\d\d|\d\d?:\d\d|(^|\D)1\d{9}(\d{3})?(\D|$)`)
		forms.random = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-|[0-9a-f]{16}|^\W*r_[a-z0-9]{6}|\d\.\d{6}`)
	})
	switch {
	case forms.time.MatchString(was) && forms.time.MatchString(is):
		return causeTime
	case forms.random.MatchString(was) && forms.random.MatchString(is):
		return causeRandom
	}
	return ""
}

const spaces = " \t\n\"'"

// wordStart returns where the word begins that contains a byte of a text, or the byte if the word
// is long.
func wordStart(text string, at int) int {
	if from := strings.LastIndexAny(text[:at], spaces) + 1; at-from < longestWord {
		return from
	}
	return at
}

// word returns the rest of a word.
func word(text string) string {
	if i := strings.IndexAny(text, spaces); i >= 0 {
		return text[:i]
	}
	return text
}

// longestWord is the number of characters of an excerpt.
const longestWord = 40

// excerpt returns the beginning of a text.
func excerpt(text string) string {
	runes := []rune(text[:min(len(text), longestWord*utf8.UTFMax)])
	return string(runes[:min(len(runes), longestWord)])
}

// commonPrefix returns the length of the longest common prefix, which ends with a character.
func commonPrefix(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// commonText returns how many bytes of b are in a, in the same order and in runs that are not short
// and begin with a word.
func commonText(a, b string) (n int) {
	const run = 32
	isStart := func(s string, i int) bool { return i == 0 || strings.IndexByte(" \n\",:", s[i-1]) >= 0 }
	at := map[string][]int{}
	for i := 0; i+run <= len(a); i++ {
		if isStart(a, i) {
			at[a[i:i+run]] = append(at[a[i:i+run]], i)
		}
	}
	from := 0
	for j := 0; j+run <= len(b); {
		if !isStart(b, j) {
			j++
			continue
		}
		places := at[b[j:j+run]]
		k, _ := slices.BinarySearch(places, from)
		if k == len(places) {
			j++
			continue
		}
		i := places[k]
		size := run
		for i+size < len(a) && j+size < len(b) && a[i+size] == b[j+size] {
			size++
		}
		n, j, from = n+size, j+size, i+size
	}
	return n
}

// Lines returns the use as text: the sums, and a line for each break.
func (u *CacheUse) Lines() []string {
	lost := func(usd json.RawMessage) string { return "$" + strings.Replace(string(usd), "null", "?", 1) + " lost" }
	lines := []string{fmt.Sprintf("%s, %s/%s: %s, %d of %d tokens read, %d possible; %s",
		u.Agent, u.Connection, u.Model, counted(u.Requests, "request"), u.TokensCached, u.TokensIn, u.Possible, lost(u.Lost))}
	for _, b := range u.Breaks {
		cause := b.Cause
		if cause == causeTools {
			cause = b.Part // with the tool
		}
		if b.At != "" {
			cause += ", " + b.At
		}
		lines = append(lines, fmt.Sprintf("%s: %d of %d requests missed at byte %d, %q → %q (%s); %s",
			u.Agent, b.Requests, u.Requests, b.Byte, word(strings.TrimSpace(b.Before)), word(strings.TrimSpace(b.After)), cause, lost(b.Lost)))
	}
	return lines
}
