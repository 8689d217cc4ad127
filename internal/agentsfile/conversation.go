package agentsfile

// decodeConversation reads who keeps the conversation, and notes what cannot go together with the model's provider
// keeping it.
func (o *object) decodeConversation(a *Agent) {
	if a.ProviderConversation = o.choice("conversation", conversationWords) == "provider"; !a.ProviderConversation {
		return
	}
	if a.API == "chat_completions" {
		o.problem(o.values["conversation"].pos, "conversation: provider needs `api: responses`; with chat_completions "+
			"nobody but this program keeps the conversation")
	}
	if n := o.values["history_tokens"]; n != nil {
		o.problem(n.pos, "history_tokens bounds what the model is sent, and with `conversation: provider` "+
			"the provider keeps the conversation as it is; leave one of them out")
	}
	for _, g := range a.Guardrails {
		if g.Output {
			o.problem(g.Position, "guardrail %q looks at answers, and with `conversation: provider` the provider "+
				"has kept an answer before it is looked at; leave one of them out", g.Name)
		}
	}
}

// checkConversations notes agents that would take over a conversation and cannot.
func (d *decoder) checkConversations(f *File) {
	for _, a := range f.Agents {
		for _, h := range a.Handoffs {
			to := f.Agent(h.Name)
			if to == nil || to.ProviderConversation == a.ProviderConversation {
				continue
			}
			with, without := a.Name, to.Name
			if to.ProviderConversation {
				with, without = without, with
			}
			d.problem(h.Position, "agents %q and %q share a conversation, and only %q has `conversation: provider`; "+
				"give it to %q as well, or to neither", a.Name, to.Name, with, without)
		}
	}
}
