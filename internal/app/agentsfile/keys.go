package agentsfile

// keys are the words that may stand somewhere: now, and in later versions of the format.
type keys struct{ now, later []string }

// The tables are the format. The JSON Schema says the same; a test compares them.
var (
	fileKeys = keys{
		now:   []string{"version", "default_agent", "channels", "requesters", "limits", "agents", "default_policy"},
		later: []string{"retention", "mcp_servers", "policies", "delegates", "break_glass"},
	}
	limitKeys = keys{now: []string{"runs_per_person", "runs_per_channel", "pending_per_person"}}
	agentKeys = keys{
		now: []string{
			"instructions", "model", "api", "max_turns", "history_tokens", "temperature", "max_output_tokens",
			"reasoning_effort", "parallel_tool_calls", "tools",
		},
		later: []string{"handoffs", "guardrails", "stop_on_first_tool"},
	}
	apiWords      = keys{now: []string{"responses"}, later: []string{"chat_completions"}}
	effortWords   = keys{now: []string{"none", "minimal", "low", "medium", "high", "xhigh"}}
	toolTypeWords = keys{
		now:   []string{string(Function), string(HTTP)},
		later: []string{"shell", "apply_patch", "mcp", "hosted_mcp", "agent", "web_search", "external"},
	}
	functionKeys = keys{
		now:   []string{"type", "name", "needs_approval", "version", "idempotent", "timeout"},
		later: []string{"approval", "secret", "requires_user_input"},
	}
	httpKeys = keys{
		now: []string{
			"type", "name", "description", "version", "parameters", "method", "url", "headers", "allow_addresses",
			"needs_approval", "idempotent", "timeout",
		},
		later: []string{"approval", "secret", "requires_user_input"},
	}
	methodWords = keys{now: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}}
	peopleKeys  = keys{now: []string{"users", "groups", "channel_members"}, later: []string{"all_of"}}
	policyKeys  = keys{
		now: []string{
			"approvers", "quorum", "deny_quorum", "self_approval", "expires_in", "on_expiry", "valid_for", "always",
		},
		later: []string{"name", "when", "all_of", "remind_every", "escalate", "freeze", "risk"},
	}
	alwaysKeys  = keys{now: []string{"scopes"}, later: []string{"max_ttl", "max_uses"}}
	scopeWords  = keys{now: []string{"run"}, later: []string{"thread", "channel", "workspace"}}
	expiryWords = keys{now: []string{"reject", "cancel", "keep"}}
)
