package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/serviceworker"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Allow grants a permission, such as "notifications", to the pages of an origin before they ask.
func (b *Tab) Allow(origin, what string) {
	b.t.Helper()
	c := chromedp.FromContext(b.ctx)
	call(b, browser.SetPermission, browser.SetPermissionParams{Permission: &browser.PermissionDescriptor{Name: what}, Setting: browser.PermissionSettingGranted, Origin: origin, BrowserContextID: c.BrowserContextID})
}

// Passkeys adds an authenticator to the tab that has the PRF extension and verifies its user.
func (b *Tab) Passkeys() {
	b.t.Helper()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: "ctap2", Ctap2version: "ctap2_1", Transport: "internal", HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, HasPrf: true, HasHmacSecret: true, AutomaticPresenceSimulation: true}})
}

// Push delivers a push message, already decrypted, to the service worker of an origin. It returns
// when the worker has started to handle the message. No page of the origin needs to be open.
func (b *Tab) Push(origin, data string) {
	b.t.Helper()
	call(b, serviceworker.Enable, cdp.Empty{})
	for until := time.Now().Add(patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if id := b.watch.registration(origin); id != "" {
			call(b, serviceworker.DeliverPushMessage, serviceworker.DeliverPushMessageParams{Origin: origin, RegistrationID: id, Data: data})
			return
		}
	}
	b.t.Fatalf("%s has no service worker", origin)
}

// InWorker evaluates an expression in the running service worker of an origin and returns its
// value.
func (b *Tab) InWorker(origin, expression string) any {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := inWorker(ctx, origin, expression)
	if err != nil {
		b.t.Fatalf("the service worker of %s: %s: %v", origin, short(expression), err)
	}
	return v
}

func inWorker(ctx context.Context, origin, expression string) (any, error) {
	all, err := chromedp.Targets(ctx)
	if err != nil {
		return nil, err
	}
	for _, at := range all {
		if at.Type != "service_worker" || !strings.HasPrefix(at.URL, origin+"/") {
			continue
		}
		inside, end := chromedp.NewContext(ctx, chromedp.WithTargetID(at.TargetID), chromedp.WithDetachOnCancel())
		defer end()
		yes := true
		r, err := chromedp.Call(inside, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, AwaitPromise: &yes, ReturnByValue: &yes})
		if err != nil {
			return nil, err
		}
		if x := r.ExceptionDetails; x != nil {
			return nil, fmt.Errorf("%s", thrown(x))
		}
		var v any
		if len(r.Result.Value) > 0 {
			err = json.Unmarshal(r.Result.Value, &v)
		}
		return v, err
	}
	return nil, fmt.Errorf("no service worker is running")
}
