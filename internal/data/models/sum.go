package models

// Sum is what attempts at models and exchanges with hosts have used. Each figure of a run is a sum
// of the same entries: one for each attempt that has sent a request, and those of each exchange
// that has begun. The cost is in units of 10⁻¹² US dollars.
type Sum struct {
	Calls, FailedCalls         int64 // attempts at models that have sent a request
	Exchanges, FailedExchanges int64 // exchanges that have begun; one that is cancelled has not failed
	TokensIn, TokensOut        int64
	Parts
	Estimated int64 // attempts and exchanges that have not reported all that they have used
	Cost      int64
	Unpriced  int64 // attempts whose price is unknown, and whose cost is not a part of Cost
}

// Add adds a sum.
func (s *Sum) Add(x Sum) {
	s.Calls += x.Calls
	s.FailedCalls += x.FailedCalls
	s.Exchanges += x.Exchanges
	s.FailedExchanges += x.FailedExchanges
	s.TokensIn += x.TokensIn
	s.TokensOut += x.TokensOut
	s.Parts = s.Parts.Plus(x.Parts)
	s.Estimated += x.Estimated
	s.Cost += x.Cost
	s.Unpriced += x.Unpriced
}

// Tokens returns the sum of input and output tokens.
func (s *Sum) Tokens() int64 { return s.TokensIn + s.TokensOut }

// USD returns the cost in US dollars.
func (s *Sum) USD() float64 { return float64(s.Cost) / Dollar }

// Sum returns the entry of an attempt that has sent a request.
func (x *Spent) Sum() Sum {
	return Sum{Calls: 1, FailedCalls: count(x.Failed), TokensIn: x.In, TokensOut: x.Out, Parts: x.Parts, Estimated: count(x.Estimated), Cost: x.Cost, Unpriced: count(x.Unpriced)}
}

func count(is bool) int64 {
	if is {
		return 1
	}
	return 0
}
