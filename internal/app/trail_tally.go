package app

import (
	"cmp"
	"encoding/json"

	"github.com/prometheus/client_golang/prometheus"

	"countersign/approvals"
)

// tally are the numbers that grow with the audit trail. Their labels are words of fixed sets, and names of policies,
// which come from the agents file.
type tally struct {
	entries  *prometheus.CounterVec
	settled  *prometheus.CounterVec
	refused  *prometheus.CounterVec
	unmet    *prometheus.CounterVec
	verdicts *prometheus.CounterVec
	decision *prometheus.HistogramVec
	policies map[string]bool
}

// policiesNamed is how many names of policies become labels; those of a file that is reloaded with ever new names count
// together beyond that.
const policiesNamed = 200

func newTally() *tally {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	t := &tally{
		entries: counter("countersign_audit_entries_total",
			"What happened since the start, by the action in the audit trail: runs, requests, decisions, effects.",
			"action"),
		settled: counter("countersign_requests_settled_total", "Requests by how they ended and the policy asked.",
			"status", "policy"),
		refused: counter("countersign_decisions_refused_total",
			"Answers that did not count, by why and the policy of the request.", "why", "policy"),
		unmet: counter("countersign_requests_unmet_total",
			"Calls about which nobody could be asked, as too few people may answer, by policy.", "policy"),
		verdicts: counter("countersign_decisions_total", "Answers that count, by what they say.", "verdict"),
		decision: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "countersign_request_seconds", Help: "Time from a request to its end, by how it ended.",
			Buckets: []float64{1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 14400, 28800, 86400, 259200, 604800},
		}, []string{"status"}),
		policies: make(map[string]bool),
	}
	for _, action := range alerting {
		t.entries.WithLabelValues(string(action))
	}
	t.verdicts.WithLabelValues(string(approvals.BreakGlass))
	return t
}

// alerting are what one alerts on. Their series are there from the start: the first of a series that begins with it is
// no increase.
var alerting = []approvals.AuditAction{
	approvals.AuditRunFailed, approvals.AuditEffectUnknown, approvals.AuditUndeliverable,
}

func (t *tally) all() []prometheus.Collector {
	return []prometheus.Collector{t.entries, t.settled, t.refused, t.unmet, t.verdicts, t.decision}
}

func (t *tally) describe(ch chan<- *prometheus.Desc) {
	for _, c := range t.all() {
		c.Describe(ch)
	}
}

func (t *tally) collect(ch chan<- prometheus.Metric) {
	for _, c := range t.all() {
		c.Collect(ch)
	}
}

// take counts an entry.
func (t *tally) take(e *approvals.AuditEntry, about question) {
	t.entries.WithLabelValues(string(e.Action)).Inc()
	switch e.Action {
	case approvals.AuditRequestUnmet:
		t.unmet.WithLabelValues(t.policy(dataOf(e).Policy)).Inc()
	case approvals.AuditDecision:
		t.verdicts.WithLabelValues(dataOf(e).Verdict).Inc()
	case approvals.AuditDecisionRefused:
		t.refused.WithLabelValues(dataOf(e).Why, t.policy(about.policy)).Inc()
	}
	status := statuses[e.Action]
	if status == "" || e.Request == "" {
		return
	}
	t.settled.WithLabelValues(status, t.policy(about.policy)).Inc()
	if !about.asked.IsZero() {
		t.decision.WithLabelValues(status).Observe(max(0, e.At.Sub(about.asked).Seconds()))
	}
}

// expect begins the series that alerts look at for each of these policies: see alerting.
func (t *tally) expect(policies []string) {
	for _, name := range policies {
		name = t.policy(name)
		t.unmet.WithLabelValues(name)
		t.settled.WithLabelValues(statuses[approvals.AuditRequestExpired], name)
	}
}

// countsQuestion reports whether take counts entries with the action by what was asked.
func countsQuestion(a approvals.AuditAction) bool {
	return a == approvals.AuditDecisionRefused || statuses[a] != ""
}

// counted are the facts of an entry that are labels.
type counted struct{ Policy, Verdict, Why string }

func dataOf(e *approvals.AuditEntry) (c counted) {
	if json.Unmarshal(e.Data, &c) != nil {
		return counted{} // the entry is damaged, which audit verify says
	}
	return c
}

// policy is the label for a policy.
func (t *tally) policy(name string) string {
	name = cmp.Or(name, "-")
	if !t.policies[name] {
		if len(t.policies) >= policiesNamed {
			return "(others)"
		}
		t.policies[name] = true
	}
	return name
}
