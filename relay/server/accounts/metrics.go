package accounts

import (
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/server/auth"
)

// metrics returns the metrics in the Prometheus text format.
func (p *API) metrics(w http.ResponseWriter, r *http.Request, _ *auth.Identity) {
	counts, err := p.c.Store.Counts(r.Context(), p.now())
	if err != nil {
		p.c.Auth.Fail(w, err)
		return
	}
	all := map[string]float64{}
	for name, n := range counts {
		all["relay_"+name] = float64(n)
	}
	if p.c.Figures != nil {
		maps.Copy(all, p.c.Figures())
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	all["relay_memory_bytes"] = float64(memory.Sys)
	all["relay_goroutines"] = float64(runtime.NumGoroutine())
	all["relay_uptime_seconds"] = p.c.Now().Sub(p.began).Seconds()
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		family, _, _ := strings.Cut(name, "{")
		if !strings.Contains(text.String(), "# TYPE "+family+" ") {
			kind := "gauge"
			if strings.HasSuffix(family, "_total") {
				kind = "counter"
			}
			fmt.Fprintf(&text, "# TYPE %s %s\n", family, kind)
		}
		fmt.Fprintf(&text, "%s %v\n", name, all[name])
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(text.String())) // an error means that the client has disconnected
}
