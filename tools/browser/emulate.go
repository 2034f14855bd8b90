package browser

import (
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
)

// Device is a screen with its input method.
type Device struct {
	Name          string
	Width, Height int64 // size in CSS pixels
	Scale         float64
	Touch         bool
}

// The devices that tests emulate.
var (
	Desk  = Device{Name: "desk", Width: 1280, Height: 800, Scale: 1}
	Phone = Device{Name: "phone", Width: 390, Height: 844, Scale: 2, Touch: true}
)

// Theme holds a user's preferences for all pages.
type Theme struct {
	Name, Scheme, Contrast string
	ReducedMotion          bool
}

// The themes that tests emulate.
var (
	Light    = Theme{Name: "light", Scheme: "light", Contrast: "no-preference"}
	Dark     = Theme{Name: "dark", Scheme: "dark", Contrast: "no-preference"}
	Contrast = Theme{Name: "contrast", Scheme: "light", Contrast: "more"}
)

// Emulate makes the tab behave like the device with the theme.
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

// Print makes the page appear as on paper, or ends that.
func (b *Tab) Print(on bool) {
	b.t.Helper()
	media := ""
	if on {
		media = "print"
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media})
}

// Throttle slows the page's processor down by a factor; 1 is full speed.
func (b *Tab) Throttle(times float64) {
	b.t.Helper()
	call(b, emulation.SetCPUThrottlingRate, emulation.SetCPUThrottlingRateParams{Rate: times})
}

// Offline disables or enables the page's network. Open WebSockets stay open. A test that needs to
// close them does so in the server or a proxy.
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

// offlineParams sets the flag in two forms. Chromium 148 reads the top-level flag, and Chromium 156
// reads the flag in each condition.
type offlineParams struct {
	network.EmulateNetworkConditionsByRuleParams
	Offline bool `json:"offline"`
}

var emulateOffline = cdp.Command[offlineParams, network.EmulateNetworkConditionsByRuleResult]{Method: network.EmulateNetworkConditionsByRule.Method}
