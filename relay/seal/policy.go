package seal

import "cmp"

// Policy restricts the pages of devices that decide requests, by the risk of the request. A request
// without a risk counts as one of high risk.
type Policy struct {
	Decide PolicyLevels `json:"decide"`
}

// PolicyLevels has for each risk "any", "pinned" (every page but the relay's), or "" for any.
type PolicyLevels struct {
	Low    string `json:"low,omitempty"`
	Medium string `json:"medium,omitempty"`
	High   string `json:"high,omitempty"`
}

// Levels of a policy.
const (
	levelAny    = "any"
	levelPinned = "pinned"
)

// PolicyLevel is the level of a policy for a risk: any or pinned.
type PolicyLevel struct{ Risk, Pages string }

// level returns the level for a risk.
func (p *Policy) level(risk string) *string {
	switch risk {
	case "low":
		return &p.Decide.Low
	case "medium":
		return &p.Decide.Medium
	}
	return &p.Decide.High
}

// check returns a *Refusal if a level is unknown.
func (p Policy) check() error {
	for _, l := range p.Levels() {
		if l.Pages != levelAny && l.Pages != levelPinned {
			return refuse(BadMessage, "%q is no level of a policy; levels are any and pinned", l.Pages)
		}
	}
	return nil
}

// Levels returns the level of each risk.
func (p Policy) Levels() [3]PolicyLevel {
	return [...]PolicyLevel{{"low", cmp.Or(p.Decide.Low, levelAny)}, {"medium", cmp.Or(p.Decide.Medium, levelAny)}, {"high", cmp.Or(p.Decide.High, levelAny)}}
}

// With returns the policy with another level for a risk. It reports whether both exist.
func (p Policy) With(risk, pages string) (Policy, bool) {
	if risk != "low" && risk != "medium" && risk != "high" || pages != levelAny && pages != levelPinned {
		return p, false
	}
	*p.level(risk) = pages
	return p, true
}

// allows reports whether a device with the given page may decide a request with the given risk.
func (p Policy) allows(page, risk string) bool {
	return *p.level(risk) != levelPinned || page != PageServer
}
