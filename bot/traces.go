package bot

import (
	"context"
	"log/slog"

	"countersign/agent/trace"
)

// traceReceived begins the span of a delivery, which began when it arrived. Whatever comes of it, its run and the
// messages in the outbox, goes on in the trace that this begins. end says whether it is acknowledged.
func (b *Bot) traceReceived(ctx context.Context, d delivery) (inner context.Context, end func(acknowledged bool)) {
	inner, over := trace.Begin(ctx, b.tracer, trace.Start{Kind: trace.Receive, Name: d.what, Began: d.since})
	return inner, func(acknowledged bool) {
		if !acknowledged {
			over(trace.ClassOther, slog.String(trace.AttrOutcome, "refused"))
			return
		}
		over("", slog.String(trace.AttrOutcome, "acknowledged"))
	}
}

// traceAcknowledged acknowledges a delivery within a span.
func (b *Bot) traceAcknowledged(ctx context.Context, acknowledge func()) {
	_, end := trace.Begin(ctx, b.tracer, trace.Start{Kind: trace.Acknowledge})
	defer end("")
	acknowledge()
}

// traceFollowUp has what follows an acknowledgement happen within a span, in the trace of the delivery.
func (b *Bot) traceFollowUp(d delivery, then func(context.Context)) func(context.Context) {
	if b.tracer == nil {
		return then
	}
	return func(ctx context.Context) {
		ctx, end := trace.Begin(ctx, b.tracer, trace.Start{Kind: trace.FollowUp, Name: d.what})
		defer end("")
		then(ctx)
	}
}
