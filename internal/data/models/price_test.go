package models

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPrices checks that each price has a source, and that its rates and dates can be true.
func TestPrices(t *testing.T) {
	all, priced := loaded(), 0
	for _, r := range all.Rows {
		from := ""
		if len(r.Price) > 0 && r.Price[0].From != "" {
			t.Errorf("%s %s has no first price", r.Provider, r.Pattern)
		}
		for i, p := range r.Price {
			name := r.Provider + " " + r.Pattern + " " + p.From
			priced++
			if len(p.Source) == 0 {
				t.Errorf("the price of %s has no source", name)
			}
			for _, s := range p.Source {
				if all.Sources[s] == "" && !strings.HasPrefix(s, "https://") {
					t.Errorf("the price of %s has the unknown source %s", name, s)
				}
			}
			if i > 0 && p.From <= from {
				t.Errorf("the price of %s does not follow %q", name, from)
			}
			if from = p.From; from != "" {
				if _, err := time.Parse(time.DateOnly, from); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			checkRates(t, name, p.Rates)
			if p.Above != nil {
				checkRates(t, name+" above", p.Above.Rates)
				if p.Above.Tokens < 1000 || p.Above.Input < p.Input || p.Above.Output < p.Output || (p.Above.CacheRead == nil) != (p.CacheRead == nil) || (p.Above.CacheWrite == nil) != (p.CacheWrite == nil) {
					t.Errorf("%s has the rates %+v above %d tokens", name, p.Above.Rates, p.Above.Tokens)
				}
			}
			if got := PriceAt(r.Provider, strings.TrimSuffix(r.Pattern, "*"), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)); got == nil {
				t.Errorf("%s is not found", name)
			}
		}
	}
	if priced < 30 {
		t.Errorf("number of prices = %d", priced)
	}
}

// checkRates checks that a read costs less than other input, and that a write costs more.
func checkRates(t *testing.T, name string, r Rates) {
	t.Helper()
	if r.Input <= 0 || r.Output < r.Input || r.CacheRead != nil && (*r.CacheRead <= 0 || *r.CacheRead >= r.Input) || r.CacheWrite != nil && *r.CacheWrite <= r.Input || r.CacheWrite1h != nil && *r.CacheWrite1h <= *r.CacheWrite {
		t.Errorf("%s has the rates %+v", name, r)
	}
}

func day(text string) time.Time {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		panic(err)
	}
	return t
}

// TestPriceAt checks the names and the dates of prices.
func TestPriceAt(t *testing.T) {
	for _, c := range []struct {
		provider, model, date string
		read                  float64 // 0 for an unknown price
	}{
		{"anthropic", "claude-sonnet-5-5", "2026-10-06", 0.2},
		{"anthropic", "claude-sonnet-5-5", "2026-10-07", 0.1},
		{"anthropic", "claude-sonnet-5-5-20260901", "2027-01-01", 0.1},
		{"anthropic", "claude-sonnet-5-5-latest", "2027-01-01", 0.1},
		{"anthropic", "claude-opus-5", "2026-10-07", 0.5},
		{"anthropic", "claude-opus-5-9", "2026-10-07", 0},
		{"anthropic", "claude-opus-7", "2026-10-07", 0},
		{"openai", "gpt-6.2-sol-mini", "2026-10-07", 0},
		{"openai", "gpt-5.6-sol-2026-07-09", "2026-11-20", 0.4},
		{"gemini", "models/gemini-4-argon", "2026-11-30", 0.1},
		{"gemini", "gemini-4-argon", "2026-12-01", 0.2},
		{"bedrock", "us.anthropic.claude-opus-5-5-v1:0", "2026-10-07", 0},
		{"ollama", "llama3", "2026-10-07", 0},
	} {
		got := 0.0
		if p := PriceAt(c.provider, c.model, day(c.date)); p != nil {
			got = *p.CacheRead
		}
		if got != c.read {
			t.Errorf("%s %s on %s: a read costs %v, want %v", c.provider, c.model, c.date, got, c.read)
		}
	}
	// The change is at midnight in UTC, wherever the process runs.
	late := time.Date(2026, 10, 7, 1, 0, 0, 0, time.FixedZone("", 2*3600))
	if p := PriceAt("anthropic", "claude-sonnet-5-5", late); *p.CacheRead != 0.2 {
		t.Errorf("at %v a read costs %v", late, *p.CacheRead)
	}
}

func TestCost(t *testing.T) {
	opus := PriceAt("anthropic", "claude-opus-5-5", day("2026-11-27"))
	haiku := PriceAt("anthropic", "claude-haiku-5-5", day("2026-11-27"))
	tiered := Price{Rates: Rates{Input: 2, Output: 10}, Tiers: map[string]float64{"flex": 0.5}, Source: []string{"a test"}}
	own := Price{Rates: Rates{Input: 2, Output: 10}}
	for _, c := range []struct {
		name   string
		usage  Usage
		price  *Price
		cost   int64
		unsure bool
	}{
		{"plain", Usage{In: 1000, Out: 10}, opus, 1000*4e6 + 10*20e6, false},
		{"cached", Usage{In: 1000, Out: 10, Parts: Parts{Cached: 600, CacheWrite: 300}, CacheWrite1h: 100}, opus, 100*4e6 + 600*200_000 + 200*5e6 + 100*8e6 + 10*20e6, false},
		{"at the bound", Usage{In: 100_000, Out: 1}, haiku, 100_000*100_000 + 500_000, false},
		{"above the bound", Usage{In: 100_001, Out: 1, Parts: Parts{Cached: 100_000}}, haiku, 500_000 + 100_000*50_000 + 2_500_000, false},
		{"no rates of a cache", Usage{In: 100, Parts: Parts{Cached: 50, CacheWrite: 40}, CacheWrite1h: 20}, &own, 60*2e6 + 40*2.5e6, false},
		{"a tier", Usage{In: 100, Out: 10, Tier: "flex"}, &tiered, 100*1e6 + 10*5e6, false},
		{"an unknown tier", Usage{In: 100, Out: 10, Tier: "priority"}, &tiered, 100*2e6 + 10*10e6, true},
		{"a tier of a manifest", Usage{In: 100, Out: 10, Tier: "priority"}, &own, 100*2e6 + 10*10e6, false},
		{"negative", Usage{In: -5, Out: -1, Parts: Parts{Cached: -3}}, opus, 0, false},
		{"more cached than read", Usage{In: 100, Parts: Parts{Cached: 5000}}, opus, 100 * 200_000, false},
		{"counted twice", Usage{In: 100, Parts: Parts{Cached: 100, CacheWrite: 100}}, opus, 100 * 200_000, false},
		{"impossible", Usage{In: math.MaxInt64, Out: math.MaxInt64}, &Price{Rates: Rates{Input: 1e9, Output: 1e9}}, mostCost, false},
	} {
		if cost, ok := Cost(c.usage, c.price); cost != c.cost || ok == c.unsure {
			t.Errorf("%s: got %d, %t; want %d, %t", c.name, cost, ok, c.cost, !c.unsure)
		}
	}
}

// TestHighest checks that no request costs more than the highest rates allow.
func TestHighest(t *testing.T) {
	price := PriceAt("anthropic", "claude-haiku-5-5", day("2026-11-27"))
	for _, in := range []int64{0, 1, 100_000, 100_001} {
		for _, long := range []bool{false, true} {
			u := Usage{In: in, Out: 7, Parts: Parts{CacheWrite: in}}
			if long {
				u.CacheWrite1h = in
			}
			input, output := price.Highest(in, long)
			if cost, _ := Cost(u, price); cost != in*input+7*output {
				t.Errorf("%d tokens, one hour %t: the cost is %d, and %d and %d are the highest rates", in, long, cost, input, output)
			}
		}
	}
	if in, out := (*Price)(nil).Highest(5, true); in != 0 || out != 0 {
		t.Errorf("without a price: %d, %d", in, out)
	}
}

// TestWithRatios checks that the price of a manifest has the vendor's ratios where it has no rates
// of its own.
func TestWithRatios(t *testing.T) {
	vendor := PriceAt("anthropic", "claude-opus-5-5", day("2026-11-27"))
	got := Rates{Input: 8, Output: 40, CacheWrite: new(9.0)}.WithRatios(vendor)
	if d := cmp.Diff(Rates{8, 40, new(0.4), new(9.0), new(16.0)}, got); d != "" {
		t.Error(d)
	}
	if got := (Rates{Input: 8, Output: 40}).WithRatios(nil); got.CacheRead != nil {
		t.Errorf("without a vendor: %+v", got)
	}
}
