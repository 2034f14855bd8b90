package browser

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
)

// Device is a screen, and how it is touched.
type Device struct {
	Name          string
	Width, Height int64 // CSS pixels
	Scale         float64
	Touch         bool
}

// The devices of the tests.
var (
	Desk  = Device{Name: "desk", Width: 1280, Height: 800, Scale: 1}
	Phone = Device{Name: "phone", Width: 390, Height: 844, Scale: 2, Touch: true}
)

// Theme is what a person has set for all pages.
type Theme struct {
	Name, Scheme, Contrast string
	ReducedMotion          bool
}

// The themes of the tests.
var (
	Light    = Theme{Name: "light", Scheme: "light", Contrast: "no-preference"}
	Dark     = Theme{Name: "dark", Scheme: "dark", Contrast: "no-preference"}
	Contrast = Theme{Name: "contrast", Scheme: "light", Contrast: "more"}
)

// Emulate makes the tab one on that device with that theme.
func (b *Tab) Emulate(d Device, theme Theme) {
	b.t.Helper()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: d.Width, Height: d.Height, DeviceScaleFactor: d.Scale, Mobile: d.Touch})
	call(b, emulation.SetTouchEmulationEnabled, emulation.SetTouchEmulationEnabledParams{Enabled: d.Touch, MaxTouchPoints: 5})
	motion := "no-preference"
	if theme.ReducedMotion {
		motion = "reduce"
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme.Scheme}, {Name: "prefers-contrast", Value: theme.Contrast},
		{Name: "prefers-reduced-motion", Value: motion},
	}})
}

// Throttle makes the page's processor so many times slower; 1 is its own speed.
func (b *Tab) Throttle(times float64) {
	b.t.Helper()
	call(b, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: times})
}

// Offline takes the page's network away, or gives it back. Connections that are open
// (WebSockets) stay: a test that needs them cut closes them at the server, or a
// proxy.
func (b *Tab) Offline(offline bool) {
	b.t.Helper()
	conditions := []*network.Conditions{}
	if offline {
		conditions = append(conditions, &network.Conditions{Offline: true, DownloadThroughput: -1, UploadThroughput: -1})
	}
	call(b, emulateOffline, offlineParams{
		EmulateNetworkConditionsByRuleParams: network.EmulateNetworkConditionsByRuleParams{EmulateOfflineServiceWorker: &offline, MatchedNetworkConditions: conditions},
		Offline:                              offline,
	})
	call(b, network.OverrideNetworkState, network.OverrideNetworkStateParams{Offline: offline, DownloadThroughput: -1, UploadThroughput: -1})
}

// offlineParams says it in both ways: Chromium 148 wants it once for all conditions, Chromium 156 in each of them.
type offlineParams struct {
	network.EmulateNetworkConditionsByRuleParams
	Offline bool `json:"offline"`
}

var emulateOffline = cdp.Command[offlineParams, network.EmulateNetworkConditionsByRuleResult]{Method: network.EmulateNetworkConditionsByRule.Method}
