package traces

import (
	"cmp"
	"context"
	"log/slog"
	"sync/atomic"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// queue keeps the spans that were not sent yet, and tells the log how many there was no room for: the SDK's queue drops
// them without a word.
type queue struct {
	sdktrace.SpanProcessor
	log     *slog.Logger
	room    int64
	waiting atomic.Int64 // spans that the SDK has and did not begin to send
	dropped atomic.Int64 // that the log was not told of
}

// newQueue returns a queue of room for so many spans; zero: as many as the SDK keeps.
func newQueue(exporter sdktrace.SpanExporter, room int, log *slog.Logger) *queue {
	room = cmp.Or(room, sdktrace.DefaultMaxQueueSize)
	q := &queue{log: log, room: int64(room)}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(sending{exporter, q}, sdktrace.WithMaxQueueSize(room))
	return q
}

// OnEnd is part of sdktrace.SpanProcessor.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > q.room {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// Shutdown is part of sdktrace.SpanProcessor.
func (q *queue) Shutdown(ctx context.Context) error {
	defer q.tell()
	return q.SpanProcessor.Shutdown(ctx)
}

// tell tells the log what was dropped since it was told last.
func (q *queue) tell() {
	if n := q.dropped.Swap(0); n > 0 {
		q.log.Warn("traces are lost: more spans came than are kept until they are sent (OTEL_BSP_MAX_QUEUE_SIZE)",
			"spans", n, "kept", q.room)
	}
}

// sending is an exporter that says what the queue has room for again.
type sending struct {
	sdktrace.SpanExporter
	queue *queue
}

// ExportSpans is part of sdktrace.SpanExporter.
func (s sending) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	s.queue.waiting.Add(-int64(len(spans)))
	defer s.queue.tell()
	return s.SpanExporter.ExportSpans(ctx, spans)
}
