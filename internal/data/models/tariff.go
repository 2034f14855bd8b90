package models

import (
	"cmp"
	"net/netip"
	"net/url"
	"time"
)

// Tariff determines the prices of a connection's models.
type Tariff struct {
	Provider string
	Address  string           // base_url; "" for the provider's own
	Own      map[string]Rates // the manifest's prices by model; the key AnyModel is for all others
	IsOther  bool             // something else answers the requests, and not the provider
}

// AnyModel is the key of a connection's default price.
const AnyModel = "*"

// Price returns the price of a model at a time, or nil if it is unknown: that of the manifest, or
// else that of the vendor if the connection uses the vendor's own address. Models that this machine
// executes are free.
func (t Tariff) Price(model string, at time.Time) *Price {
	own := t.own(model)
	vendor := PriceAt(t.Provider, model, at)
	switch {
	case own != nil:
		p := &Price{Rates: own.WithRatios(vendor)}
		if p.CacheWrite == nil && !ProviderNamed(t.Provider).Writes {
			p.CacheWrite = &p.Input // so that nothing is reserved for a write
		}
		return p
	case t.isFree():
		return &Price{}
	case t.isVendors():
		return vendor
	}
	return nil
}

// IsFixed reports whether the price of a model is that of the manifest, or 0.
func (t Tariff) IsFixed(model string) bool { return t.own(model) != nil || t.isFree() }

// own returns the manifest's price of a model, or nil. Names are compared as given, and then
// without path, region, vendor and version.
func (t Tariff) own(model string) *Rates {
	if r, ok := t.Own[model]; ok {
		return &r
	}
	if len(t.Own) == 0 {
		return nil
	}
	found, plain := "", Name(model)
	for name := range t.Own {
		if name != AnyModel && Name(name) == plain && (found == "" || name < found) {
			found = name
		}
	}
	if r, ok := t.Own[cmp.Or(found, AnyModel)]; ok {
		return &r
	}
	return nil
}

// isVendors reports whether requests are sent to the own address of a vendor.
func (t Tariff) isVendors() bool {
	base := ProviderNamed(t.Provider).Base
	return base != "" && !t.IsOther && (t.Address == "" || hostOf(t.Address) == hostOf(base))
}

// isFree reports whether the models are executed on this machine.
func (t Tariff) isFree() bool {
	p := ProviderNamed(t.Provider)
	if !p.Free || t.IsOther && t.Provider != Scripted {
		return false
	}
	host := hostOf(cmp.Or(t.Address, p.Base))
	ip, err := netip.ParseAddr(host)
	return p.Base == "" || host == "localhost" || err == nil && ip.IsLoopback()
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address // it is no address of a vendor
	}
	return u.Hostname()
}
