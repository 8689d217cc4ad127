package invariant

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"countersign/agent"
	"countersign/approvals"
)

// modelsAreToldOnce is I13: in every request to a model each call has exactly one output, and what it says is what the
// records and the world say: that the call ran, was rejected, expired, was ended with its run, or that nobody knows.
func (h *history) modelsAreToldOnce() {
	for i, items := range h.Asked {
		calls, outputs := map[string]int{}, map[string]int{}
		for _, it := range items {
			switch it.Type {
			case agent.ItemFunctionCall:
				calls[it.CallID]++
			case agent.ItemFunctionCallOutput:
				outputs[it.CallID]++
			}
		}
		for id, n := range calls {
			if outputs[id] != n {
				h.broken(13, "request %d to the model has call %s %d times with %d outputs", i+1, id, n, outputs[id])
			}
		}
		for id, n := range outputs {
			if calls[id] == 0 {
				h.broken(13, "request %d to the model has %d outputs of call %s, which is not in it", i+1, n, id)
			}
		}
	}
	ran := h.happened()
	for _, e := range h.effects {
		if e.Output != nil && !e.Output.Failed && h.Effects != nil && ran[e.ID] == 0 && h.outside(e) {
			h.broken(13, "effect %s of %s has an output, and did not happen", e.ID, e.Tool)
		}
		if ran[e.ID] > 0 && h.saidUndone(e) {
			h.broken(13, "effect %s of %s happened, and was told as failed: %q", e.ID, e.Tool, e.Output.Text)
		}
	}
	h.modelsAreToldTheReason()
}

// saidUndone reports whether whoever reads how the effect failed has to believe that nothing was done: its tool has not
// said that it may have acted, and nothing says that there was another try.
func (h *history) saidUndone(e *approvals.EffectRecord) bool {
	if e.Output == nil || !e.Output.Failed || e.Status.MayHaveActed() {
		return false
	}
	for _, r := range h.requests {
		if r.Run == e.Run && r.Interruption == e.Interruption && r.TriedAgain {
			return false
		}
	}
	return !slices.Contains(h.Ungated, e.Tool) || !strings.HasPrefix(e.Output.Text, "This call was begun before")
}

// outside reports whether the world would have seen the effect: some effect of the tool was seen.
func (h *history) outside(e *approvals.EffectRecord) bool {
	return slices.ContainsFunc(h.Effects, func(did Effect) bool { return did.Tool == e.Tool })
}

// reason is what an output says became of its call.
type reason string

const (
	ran      reason = "it ran" // the output is what the tool has returned
	rejected reason = "it was rejected"
	expired  reason = "nobody answered in time"
	unknown  reason = "nobody knows whether it ran"
	cut      reason = "it was running when its run ended"
	unended  reason = "the run ended first"
	unasked  reason = "nobody could be asked"
	foundOut reason = "a person found out that it ran"
	reported reason = "it was carried out elsewhere"
)

// openings are how outputs begin that no tool has written.
var openings = []struct {
	words string
	means reason
}{
	{agent.DefaultRejection, rejected},
	{"This call was not carried out: a person rejected it.", rejected},
	{"A person says that this call will not be carried out.", rejected},
	{"A person has rejected this call after it was sent", unknown},
	{"This call was not carried out: nobody ", expired},
	{"This call was not carried out: too few people ", expired},
	{"There is no result of this call: nobody reported one in time.", expired},
	{"Nobody answered the question in time.", expired},
	{"This call was not carried out: it needs approval, but ", unasked},
	{"The question was put to nobody", unasked},
	{"There is no result: the run ended", unended},
	{"This call was still running when the run ended.", cut},
	{"It is not known whether this call ", unknown},
	{"The outcome of this call was unknown; a person has found out", foundOut},
	{"A person has carried this call out and reports", reported},
	{"The system that carries this call out reports", reported},
}

func reasonOf(output string) reason {
	for _, o := range openings {
		if strings.HasPrefix(output, o.words) {
			return o.means
		}
	}
	return ran
}

// fate is what the records know of the calls with one id. Providers' ids are unique within a conversation only: where
// several have the id, an output may be of any of them.
type fate struct {
	requests []*approvals.Request
	effects  []*approvals.EffectRecord
}

func (h *history) fates() map[string]*fate {
	all := map[string]*fate{}
	of := func(id string) *fate {
		if all[id] == nil {
			all[id] = &fate{}
		}
		return all[id]
	}
	for _, r := range h.requests {
		f := of(callOf(r))
		f.requests = append(f.requests, r)
	}
	for _, e := range h.effects {
		f := of(e.Call)
		f.effects = append(f.effects, e)
	}
	return all
}

// callOf is the provider's id of the call that the request is about.
func callOf(r *approvals.Request) string {
	id, err := url.PathUnescape(r.Interruption[strings.LastIndexByte(r.Interruption, '/')+1:])
	if err != nil {
		return r.Interruption
	}
	return id
}

// modelsAreToldTheReason compares each output with the fate of its call. Of a call that the records do not know, such
// as one with unusable arguments, it wants no more than that it was not said to be decided or begun.
func (h *history) modelsAreToldTheReason() {
	type output struct{ call, text string }
	fates, told := h.fates(), map[output]bool{}
	for _, items := range h.Asked {
		for _, it := range items {
			o := output{it.CallID, it.Output}
			if it.Type != agent.ItemFunctionCallOutput || told[o] {
				continue
			}
			told[o] = true
			f := fates[it.CallID]
			if f == nil {
				f = &fate{}
			}
			if why := reasonOf(it.Output); !h.truthful(f, why, it.Output) {
				h.broken(13, "the model was told of call %s that %s, which is not so: %q", it.CallID, why, it.Output)
			}
		}
	}
}

// truthful reports whether one of the calls with this fate came to what the model was told.
func (h *history) truthful(f *fate, why reason, output string) bool {
	request := func(fits func(*approvals.Request) bool) bool { return slices.ContainsFunc(f.requests, fits) }
	effect := func(fits func(*approvals.EffectRecord) bool) bool { return slices.ContainsFunc(f.effects, fits) }
	settled := func(v approvals.Verdict) bool {
		return request(func(r *approvals.Request) bool {
			s := r.Settler()
			return s != nil && s.Verdict == v && strings.Contains(output, quoted(s.Reason))
		})
	}
	switch why {
	case rejected:
		return request(func(r *approvals.Request) bool {
			s := r.Settler()
			words := s == nil || s.Reason == "" || strings.Contains(output, quoted(s.Reason))
			return r.Status == approvals.RequestRejected && words && !h.ran(r)
		}) || len(f.requests) == 0 && len(h.entries(approvals.AuditGrantDenied)) > 0
	case expired:
		return request(func(r *approvals.Request) bool { return r.Status == approvals.RequestExpired && !h.ran(r) })
	case unknown:
		return request(func(r *approvals.Request) bool {
			asked := r.Kind == agent.OutcomeUnknown || r.Kind == agent.ExternalResult
			return asked && r.Status != approvals.RequestApproved && r.Status != approvals.RequestPending
		}) || effect(func(e *approvals.EffectRecord) bool { return e.Done.IsZero() || e.GivenUp })
	case cut:
		return effect(func(e *approvals.EffectRecord) bool { return h.hasEnded(e.Run) })
	case unasked:
		return !effect(func(e *approvals.EffectRecord) bool { return h.happened()[e.ID] > 0 })
	case unended:
		return request(func(r *approvals.Request) bool { return h.hasEnded(r.Run) }) ||
			effect(func(e *approvals.EffectRecord) bool { return h.hasEnded(e.Run) }) || f.unheard()
	case foundOut:
		return settled(approvals.MarkDone)
	case reported:
		return settled(approvals.ProvideResult)
	}
	return f.unheard() || effect(func(e *approvals.EffectRecord) bool {
		return e.Output != nil && strings.Contains(output, e.Output.Text)
	}) || request(func(r *approvals.Request) bool { return r.IsQuestion() })
}

// unheard reports whether the records know no such call: neither people nor the journal heard of it.
func (f *fate) unheard() bool { return len(f.requests) == 0 && len(f.effects) == 0 }

func (h *history) hasEnded(id approvals.RunID) bool {
	r := h.runs[id]
	return r != nil && r.Status.Ended()
}

// ran reports whether the call that the request is about happened, as the world has seen.
func (h *history) ran(r *approvals.Request) bool {
	happened := h.happened()
	for _, e := range h.effects {
		if e.Run == r.Run && e.Interruption == r.Interruption && happened[e.ID] > 0 {
			return true
		}
	}
	return false
}

// quoted is how the words of people are told to a model: as a JSON string. No words are in every output.
func quoted(words string) string {
	if words == "" {
		return ""
	}
	data, _ := json.Marshal(words) // of a string, this does not fail
	return string(data)
}
