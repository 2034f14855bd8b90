package otlp

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// mostSeries is the number of series in all instruments. Further ones are added to the series with
// otel.metric.overflow of their instrument.
const mostSeries = 2000

// Instrument is a histogram if it has Bounds, else a sum.
type Instrument struct {
	Name, Unit string
	Bounds     []float64
	UpDown     bool // the sum may decrease
	Whole      bool // the sum is an integer
}

// Meter adds up measurements. It is safe for concurrent use. The sums are cumulative: they count
// from the start of the process.
type Meter struct {
	mu      sync.Mutex
	began   time.Time
	series  map[string]*series
	changed bool
	key     []byte // of the last series
}

// series is what was measured with the same attributes.
type series struct {
	instrument *Instrument
	attributes []Attribute
	sum        float64
	count      uint64
	min, max   float64
	buckets    []fixed64
}

// NewMeter returns a Meter without measurements.
func NewMeter() *Meter { return &Meter{began: time.Now(), series: map[string]*series{}} }

// Add adds a measurement.
func (m *Meter) Add(i *Instrument, v float64, list ...Attribute) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = true
	m.key = appendKey(m.key[:0], i, list)
	s := m.series[string(m.key)]
	if s == nil && len(m.series) >= mostSeries {
		list = []Attribute{{"otel.metric.overflow", true}}
		m.key = appendKey(m.key[:0], i, list)
		s = m.series[string(m.key)]
	}
	if s == nil {
		s = &series{instrument: i, attributes: slices.Clone(list), min: v, max: v}
		if i.Bounds != nil {
			s.buckets = make([]fixed64, len(i.Bounds)+1)
		}
		m.series[string(m.key)] = s
	}
	s.sum += v
	s.count++
	s.min, s.max = min(s.min, v), max(s.max, v)
	if s.buckets != nil {
		at, _ := slices.BinarySearch(i.Bounds, v) // upper bounds are inclusive
		s.buckets[at]++
	}
}

// appendKey appends the key of a series.
func appendKey(b []byte, i *Instrument, list []Attribute) []byte {
	b = append(b, i.Name...)
	for _, a := range list {
		b = append(append(append(b, 0), a.Key...), 0)
		switch v := a.Value.(type) {
		case string:
			b = append(b, v...)
		case int64:
			b = strconv.AppendInt(b, v, 10)
		case bool:
			b = strconv.AppendBool(b, v)
		default:
			b = fmt.Append(b, v)
		}
	}
	return b
}

// collect returns the message of all metrics, or nil if nothing was measured since the last call.
func (m *Meter) collect() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.changed {
		return nil
	}
	m.changed = false
	now, points := time.Now(), map[*Instrument][]message{}
	keys := make([]string, 0, len(m.series))
	for key := range m.series {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	var order []*Instrument
	for _, key := range keys {
		s := m.series[key]
		if points[s.instrument] == nil {
			order = append(order, s.instrument)
		}
		points[s.instrument] = append(points[s.instrument], s.point(m.began, now))
	}
	var out []message
	const cumulative = 2
	for _, i := range order {
		metric := message{{1, "name", i.Name}, {3, "unit", i.Unit}}
		if i.Bounds != nil {
			metric = append(metric, field{9, "histogram", message{{1, "dataPoints", points[i]}, {2, "aggregationTemporality", number(cumulative)}}})
		} else {
			metric = append(metric, field{7, "sum", message{{1, "dataPoints", points[i]}, {2, "aggregationTemporality", number(cumulative)}, {3, "isMonotonic", !i.UpDown}}})
		}
		out = append(out, metric)
	}
	return out
}

func (s *series) point(began, now time.Time) message {
	times := message{{2, "startTimeUnixNano", nano(began)}, {3, "timeUnixNano", nano(now)}}
	list := attributes(s.attributes, 0)
	switch {
	case s.buckets != nil:
		return append(times, field{4, "count", fixed64(s.count)}, field{5, "sum", s.sum}, field{6, "bucketCounts", slices.Clone(s.buckets)},
			field{7, "explicitBounds", s.instrument.Bounds}, field{9, "attributes", list}, field{11, "min", s.min}, field{12, "max", s.max})
	case s.instrument.Whole:
		return append(times, field{6, "asInt", signed(s.sum)}, field{7, "attributes", list})
	}
	return append(times, field{4, "asDouble", s.sum}, field{7, "attributes", list})
}
