package llm

// Price is what a model costs, in US dollars for a million tokens.
type Price struct {
	Input  float64 `json:"input"`
	Output float64 `json:"output"`
}

// Meter is asked before each attempt whether it may be made, and hears
// afterwards what it used. granted bounds the reply of a call that nothing else
// bounds; 0 means no bound. settle is called once with what the provider
// reported; answered is false when there was no reply. An error says why the
// attempt may not be made. Safe for concurrent use.
type Meter func(m Metered) (granted int64, settle func(in, out int64, answered bool), err error)

// Metered is one attempt as a Meter sees it. In is an estimate of the prompt's
// tokens, Out the bound of the reply's, 0 without one. Price is nil when the
// manifest names none.
type Metered struct {
	Connection, Model string
	Price             *Price
	In, Out           int64
}

// AnyModel is the name under which a connection's prices hold for the models
// that it does not name.
const AnyModel = "*"

// price is what a model costs. What a script answers is free unless the
// manifest gives it a price.
func (l *line) price(model string) *Price {
	for _, name := range []string{model, AnyModel} {
		if p, ok := l.Prices[name]; ok {
			return &p
		}
	}
	if l.Provider == "scripted" {
		return &Price{}
	}
	return nil
}
