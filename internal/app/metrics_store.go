package app

import (
	"github.com/prometheus/client_golang/prometheus"

	"countersign/store"
)

// databaseMetrics are those of a store in a database, which counts them itself.
type databaseMetrics struct{ stats func() store.Stats }

var (
	connectionsDesc = newDesc("countersign_store_connections",
		"Connections to the database, by what they are for and whether somebody uses them.", "pool", "state")
	connectionsMaxDesc  = newDesc("countersign_store_connections_max", "How many of them there may be.", "pool")
	connectionWaitsDesc = newDesc("countersign_store_connection_waits_total",
		"How often somebody had to wait for a connection.", "pool")
	connectionWaitDesc = newDesc("countersign_store_connection_wait_seconds_total",
		"For how long somebody had to wait for a connection, added up.", "pool")
	retriesDesc = newDesc("countersign_store_retries_total", "Transactions that ran again, by why.", "why")
	unknownDesc = newDesc("countersign_store_commits_unknown_total",
		"Commits of which nobody could find out in time whether they were carried out.")
	sweepsDesc   = newDesc("countersign_store_sweeps_total", "Looks at the whole table of jobs.")
	jobsLeftDesc = newDesc("countersign_store_jobs_left_total",
		"Jobs that were left to a newer version of the program.")
	claimsLostDesc = newDesc("countersign_store_claims_lost_total",
		"Jobs whose claim could not be renewed in time, so that another replica may have them.")
	formatDesc = newDesc("countersign_store_format", "The number of the form in which records are written.")
)

// Describe is part of prometheus.Collector.
func (databaseMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{connectionsDesc, connectionsMaxDesc, connectionWaitsDesc, connectionWaitDesc,
		retriesDesc, unknownDesc, sweepsDesc, jobsLeftDesc, claimsLostDesc, formatDesc} {
		ch <- d
	}
}

// Collect is part of prometheus.Collector. It asks the database nothing.
func (m databaseMetrics) Collect(ch chan<- prometheus.Metric) {
	count := func(d *prometheus.Desc, n float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...)
	}
	gauge := func(d *prometheus.Desc, n float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	st := m.stats()
	for name, p := range st.Pools {
		gauge(connectionsDesc, float64(p.InUse), name, "in_use")
		gauge(connectionsDesc, float64(p.Idle), name, "idle")
		gauge(connectionsMaxDesc, float64(p.Max), name)
		count(connectionWaitsDesc, float64(p.Waits), name)
		count(connectionWaitDesc, p.Waited.Seconds(), name)
	}
	for why, n := range st.Retries {
		count(retriesDesc, float64(n), why)
	}
	count(unknownDesc, float64(st.CommitsUnknown))
	count(sweepsDesc, float64(st.Sweeps))
	count(jobsLeftDesc, float64(st.JobsLeft))
	count(claimsLostDesc, float64(st.ClaimsLost))
	gauge(formatDesc, float64(st.Format))
}

// measureStore registers the metrics of the store, if it has some.
func (s *server) measureStore() {
	if counted, ok := s.store.(interface{ Stats() store.Stats }); ok {
		s.metrics.registry.MustRegister(databaseMetrics{counted.Stats})
	}
}
