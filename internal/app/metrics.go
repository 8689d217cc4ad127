package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"countersign/agent"
	"countersign/approvals"
	"countersign/internal/control"
)

// metrics are what /metrics shows, besides what Go and the process say of themselves. Labels never hold what people or
// models wrote.
type metrics struct {
	registry     *prometheus.Registry
	submissions  *prometheus.CounterVec
	decisions    *prometheus.HistogramVec
	deliveries   *prometheus.HistogramVec
	modelCalls   *prometheus.HistogramVec
	modelRetries prometheus.Counter
	reloads      *prometheus.CounterVec
}

func newMetrics() *metrics {
	// From a commit on a fast disk to what Slack still waits for.
	quick := []float64{.002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 3}
	slow := []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120}
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
	m := &metrics{
		registry: prometheus.NewRegistry(),
		submissions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "countersign_submissions_total", Help: "Mentions by what became of them.",
		}, []string{"outcome"}),
		decisions: histogram("countersign_decide_seconds", "Time from a click to its commit, by way and outcome.",
			quick, "via", "outcome"),
		deliveries: histogram("countersign_delivery_seconds",
			"Time to show a notification in Slack; outcome retry means it will be tried again.",
			slow, "kind", "outcome"),
		modelCalls: histogram("countersign_model_call_seconds", "Time of a model turn, retries included.", slow,
			"outcome"),
		modelRetries: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "countersign_model_retries_total", Help: "Attempts at a model turn that were tried again.",
		}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "countersign_reloads_total", Help: "Reloads of the agents file.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{reloaded, reloadRefused} {
		m.reloads.WithLabelValues(outcome) // see alerting
	}
	for _, via := range ways {
		m.decisions.WithLabelValues(via, outcome(nil)) // the same
	}
	m.registry.MustRegister(m.own()...)
	m.registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// hears says at every scrape whether the bot hears Slack. ready is bot.Bot.Ready.
func hears(ready func() <-chan struct{}) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "countersign_slack_connected",
		Help: "1 while the bot hears Slack: with an open Socket Mode connection or, in HTTP mode, a listener; else 0.",
	}, func() float64 {
		select {
		case <-ready():
			return 1
		default:
			return 0
		}
	})
}

// own are the metrics but for those of the trail.
func (m *metrics) own() []prometheus.Collector {
	return []prometheus.Collector{m.submissions, m.decisions, m.deliveries, m.modelCalls, m.modelRetries, m.reloads}
}

// The outcomes of a reload.
const (
	reloaded      = "ok"
	reloadRefused = "refused"
)

func (m *metrics) submitted(r approvals.Receipt, err error) {
	if err != nil {
		m.submissions.WithLabelValues(outcome(err)).Inc()
		return
	}
	m.submissions.WithLabelValues(string(r.Outcome)).Inc()
}

// ways are those by which decisions come, as metrics call them; the last one is all that is none of the others.
var ways = []string{"button", "modal", "home", control.Via, control.ViaSocket, otherWay}

const otherWay = "other"

// deciding starts the clock of a decision.
func (m *metrics) deciding(via string) (done func(error)) {
	started := time.Now()
	if !slices.Contains(ways, via) {
		via = otherWay
	}
	return func(err error) {
		m.decisions.WithLabelValues(via, outcome(err)).Observe(time.Since(started).Seconds())
	}
}

// measuredNotifier measures a notifier.
type measuredNotifier struct {
	approvals.Notifier
	metrics *metrics
}

// Notify is part of approvals.Notifier.
func (n measuredNotifier) Notify(ctx context.Context, note *approvals.Notification) (approvals.Delivery, error) {
	started := time.Now()
	d, err := n.Notifier.Notify(ctx, note)
	word := outcome(err)
	if _, later := errors.AsType[*approvals.RetryError](err); later || word == "error" {
		word = "retry"
	}
	n.metrics.deliveries.WithLabelValues(string(note.Kind), word).Observe(time.Since(started).Seconds())
	return d, err
}

// measuredModel measures a model.
type measuredModel struct {
	agent.StreamModel
	metrics *metrics
}

// Respond is part of agent.Model.
func (m measuredModel) Respond(ctx context.Context, req *agent.ModelRequest) (*agent.ModelResponse, error) {
	started := time.Now()
	resp, err := m.StreamModel.Respond(ctx, req)
	m.metrics.modelCalls.WithLabelValues(outcome(err)).Observe(time.Since(started).Seconds())
	return resp, err
}

// RespondStream is part of agent.StreamModel.
func (m measuredModel) RespondStream(
	ctx context.Context, req *agent.ModelRequest, emit func(agent.ModelDelta) bool,
) (*agent.ModelResponse, error) {
	started := time.Now()
	resp, err := m.StreamModel.RespondStream(ctx, req, emit)
	m.metrics.modelCalls.WithLabelValues(outcome(err)).Observe(time.Since(started).Seconds())
	return resp, err
}

// ModelName says for traces which model it is; see agent.Model.
func (m measuredModel) ModelName() (provider, model string) {
	if named, ok := m.StreamModel.(interface {
		ModelName() (provider, model string)
	}); ok {
		return named.ModelName()
	}
	return "", ""
}

// outcome is the word that metrics use for how a call ended.
func outcome(err error) string {
	for _, o := range []struct {
		fact error
		word string
	}{
		{nil, "ok"}, {approvals.ErrConflict, "conflict"}, {approvals.ErrUnauthorized, "unauthorized"},
		{approvals.ErrUnavailable, "unavailable"}, {approvals.ErrExpired, "expired"}, {approvals.ErrStale, "stale"},
		{approvals.ErrLimit, "limit"}, {approvals.ErrInvalid, "invalid"}, {approvals.ErrNotFound, "not_found"},
		{approvals.ErrUndeliverable, "undeliverable"}, {context.Canceled, "cancelled"},
	} {
		if errors.Is(err, o.fact) {
			return o.word
		}
	}
	return "error"
}
