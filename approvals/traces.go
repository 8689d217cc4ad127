package approvals

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"countersign/agent/trace"
)

// What is traced beside runs. A record that others act on, a run that is queued or an entry of the outbox, keeps the
// reference to the span of the transaction that wrote it: whoever acts on it, perhaps another process and much later,
// goes on in that trace. Spans hold ids, kinds and words of this package: never arguments, outputs or what people
// wrote.

// traceEnd is how the span of something that a person wants ends. Being refused is no failure: it is the outcome.
func traceEnd(err error, run RunID, outcome string) (class string, attr, about slog.Attr) {
	if err != nil {
		outcome = reason(err)
	}
	if outcome == "error" || outcome == "unavailable" {
		class = trace.ClassOther
	}
	return class, slog.String(trace.AttrOutcome, outcome), slog.String(trace.AttrRun, string(run))
}

// traceSubmit is submit within a span.
func (s *Service) traceSubmit(ctx context.Context, in Submission) (Receipt, error) {
	ctx, end := trace.Begin(ctx, s.tracer, trace.Start{Kind: trace.Submit, Attrs: []slog.Attr{
		slog.String(trace.AttrAgent, in.Agent), slog.String(trace.AttrPerson, string(in.Requester)),
	}})
	receipt, err := s.newAdmission(in).submit(ctx)
	class, outcome, run := traceEnd(err, receipt.Run, string(receipt.Outcome))
	end(class, outcome, run)
	return receipt, err
}

// traceDecide is decide within a span.
func (s *Service) traceDecide(ctx context.Context, seen *Request, d Decision) (*Request, error) {
	ctx, end := trace.Begin(ctx, s.tracer, trace.Start{Kind: trace.Decide, Attrs: []slog.Attr{
		slog.String(trace.AttrRequest, string(d.Request)), slog.String(trace.AttrPerson, string(d.By)),
		slog.String(trace.AttrVerdict, string(d.Verdict)), slog.String(trace.AttrVia, d.Via),
	}})
	r, err := s.decide(ctx, seen, d)
	class, outcome, run := traceDecided(r, err)
	end(class, outcome, run)
	return r, err
}

func traceDecided(r *Request, err error) (class string, attr, about slog.Attr) {
	if r == nil {
		return traceEnd(err, "", "")
	}
	return traceEnd(err, r.Run, string(r.Status))
}

// traceResult is provideResult within a span: the callback decides.
func (s *Service) traceResult(ctx context.Context, in CallbackResult) (*Request, error) {
	ctx, end := trace.Begin(ctx, s.tracer, trace.Start{Kind: trace.Decide, Attrs: []slog.Attr{
		slog.String(trace.AttrRequest, string(in.Request)), slog.String(trace.AttrVerdict, string(ProvideResult)),
		slog.String(trace.AttrPerson, string(CallbackPrincipal(in.Workspace))), slog.String(trace.AttrVia, ViaCallback),
	}})
	r, err := s.provideResult(ctx, in)
	class, outcome, run := traceDecided(r, err)
	end(class, outcome, run)
	return r, err
}

// traceTimer begins the span of what is due for a request. Nobody is there whose trace it could be part of: it begins
// one, which links to the one that the request's run was queued in last. end takes in a word what was done.
func traceTimer(
	ctx context.Context, t trace.Tracer, st Store, ws WorkspaceID, id RequestID,
) (inner context.Context, end func(did string, err error)) {
	if t == nil {
		return ctx, func(string, error) {}
	}
	start := trace.Start{Kind: trace.Timer, Attrs: []slog.Attr{slog.String(trace.AttrRequest, string(id))}}
	_ = st.View(ctx, func(tx Tx) error { // what is not found is left out
		start.Links, start.Attrs = nil, start.Attrs[:1]
		r, err := tx.RequestHead(ws, id)
		if err != nil {
			return err
		}
		start.Attrs = append(start.Attrs, slog.String(trace.AttrRun, string(r.Run)))
		run, err := tx.Run(ws, r.Run)
		if err == nil && run.Trace != "" {
			start.Links = []string{run.Trace}
		}
		return err
	})
	inner, over := trace.Begin(ctx, t, start)
	return inner, func(did string, err error) {
		class := ""
		if err != nil && !errors.Is(err, ErrNotFound) {
			class = trace.ClassOther
		}
		over(class, slog.String(trace.AttrOutcome, cmp.Or(did, "nothing")))
	}
}

// traceSend begins the span of an attempt to send a call, in the trace of what woke the run last.
func (s *sending) traceSend(ctx context.Context) (inner context.Context, end func(error)) {
	r := s.request
	inner, over := trace.Begin(ctx, s.tracer, trace.Start{
		Kind: trace.Send, Name: r.Tool.Name, Parent: s.run.Trace, Attrs: []slog.Attr{
			slog.String(trace.AttrRun, string(r.Run)), slog.String(trace.AttrRequest, string(r.ID)),
			slog.String(trace.AttrAgent, r.Agent), slog.String(trace.AttrTool, r.Tool.Name),
			slog.Int(trace.AttrDelivery, r.Trigger.Attempt+1),
		},
	})
	return inner, func(err error) {
		class := ""
		_, again := errors.AsType[*RetryError](err)
		switch {
		case s.stands == TriggerFailed:
			class = trace.ClassFailed
		case s.stands == TriggerUnknown:
			class = trace.ClassOutcomeUnknown
		case err != nil && !again:
			class = trace.ClassOther
		}
		over(class, slog.String(trace.AttrOutcome, cmp.Or(string(s.stands), "left")))
	}
}

// traceWork begins the span of an execution, in the trace of what has queued the run.
func (x *execution) traceWork(ctx context.Context) (context.Context, func()) {
	ctx, end := trace.Begin(ctx, x.tracer, trace.Start{
		Kind: trace.Work, Name: x.run.Agent, Parent: x.run.Trace, Began: x.held, Attrs: []slog.Attr{
			slog.String(trace.AttrRun, string(x.run.ID)), slog.String(trace.AttrAgent, x.run.Agent),
			slog.Int64(trace.AttrEpoch, x.run.Epoch),
		},
	})
	return ctx, func() { end("", slog.String(trace.AttrOutcome, x.stands)) }
}

// trace begins the span of an attempt to deliver n and those of the batch that it stands for.
func (q *queue) trace(ctx context.Context, n *Notification, batch []*Notification) (context.Context, trace.End) {
	if q.tracer == nil {
		return trace.Begin(ctx, nil, trace.Start{})
	}
	start := trace.Start{Kind: trace.Deliver, Name: string(n.Kind), Parent: n.Trace, Attrs: []slog.Attr{
		slog.String(trace.AttrRun, string(n.Run)), slog.String(trace.AttrNotification, string(n.ID)),
		slog.String(trace.AttrAudience, n.Copy.audience()), slog.Int(trace.AttrDelivery, n.Attempts+1),
	}}
	if n.Request != "" {
		start.Attrs = append(start.Attrs, slog.String(trace.AttrRequest, string(n.Request)))
	}
	for _, o := range batch {
		if o != n && o.Trace != "" && o.Trace != n.Trace {
			start.Links = append(start.Links, o.Trace)
		}
	}
	return trace.Begin(ctx, q.tracer, start)
}

// traced is how the span of an attempt ends. One that is put off has not failed: Slack asks for patience.
func (q *queue) traced(n *Notification, err error) (class string, outcome slog.Attr) {
	word := "delivered"
	_, putOff := errors.AsType[*RetryError](err)
	switch {
	case err == nil:
	case q.hopeless(n, err):
		class, word = trace.ClassFailed, "undeliverable"
	case putOff:
		word = "put_off"
	default:
		class, word = trace.ClassOther, "put_off"
	}
	return class, slog.String(trace.AttrOutcome, word)
}

// audience says for whom a copy is, without naming anybody.
func (c Copy) audience() string {
	switch {
	case c.of(copyPerson):
		return "dm"
	case c.of(copyChannel):
		return "channel"
	case c.of(copyHome):
		return "home"
	}
	return "place"
}
