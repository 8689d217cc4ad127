package agentsfile

import "countersign/agent/guardrail"

// keys are the words that may stand somewhere: now, and in later versions of the format; and why some that stand
// elsewhere can never stand there.
type keys struct {
	now, later []string
	never      map[string]string
}

// Why people cannot fill in the arguments of some tools.
const (
	noFieldsWhole    = "its arguments are one text, which people change as a whole when they are asked about the call"
	noFieldsProvider = "the provider carries its calls out as the model writes them"
	noGateAsk        = "it is a question to people already, and nothing runs that they could approve"
	noFieldsAsk      = "people answer its question, and the words of the question are the agent's"
	noParametersAsk  = "it takes question, options and several, whatever is asked"
	noTriggerAsk     = "nothing is carried out: people answer"
	noFieldsAgent    = "its argument is what one agent tells another; have the tools of that agent ask"
)

// Why the arguments of some tools cannot be secret.
const (
	noSecretWhole    = "people approve what it does only if they see it, and its arguments are nothing else"
	noSecretProvider = "nobody knows before a call what the provider's tools take: a misspelt name would hide nothing"
	noSecretAgent    = "its argument is what one agent tells another; make arguments of that agent's tools secret"
	noSecretAsk      = "people cannot answer what they are not shown"
)

// The tables are the format. The JSON Schema says the same; a test compares them.
var (
	fileKeys = keys{
		now: []string{
			"version", "default_agent", "channels", "requesters", "limits", "vars", "agents", "mcp_servers", "policies",
			"default_policy", "delegates", "break_glass", "retention", "workspaces",
		},
	}
	retentionKeys  = keys{now: []string{"runs", "requests", "sessions", "events"}}
	breakGlassKeys = keys{now: []string{"users", "groups", "notify"}}
	delegateKeys   = keys{now: []string{"to", "until"}}
	limitKeys      = keys{now: []string{"runs_per_person", "runs_per_channel", "pending_per_person"}}
	agentKeys      = keys{
		now: []string{
			"instructions", "model", "api", "max_turns", "history_tokens", "temperature", "max_output_tokens",
			"reasoning_effort", "parallel_tool_calls", "tools", "handoffs",
			"tool_choice", "keep_tool_choice", "stop_on_first_tool", "guardrails",
			"conversation", promptsKey,
		},
	}
	promptKeys        = keys{now: []string{"title", "message"}}
	guardrailKeys     = keys{now: []string{"name", "on", "when", "action", "message"}}
	toolGuardrailKeys = keys{now: []string{"name", "on", "when", "action", "message", "before_approval"}}
	stageWords        = keys{now: []string{"input", "output"}}
	actionWords       = keys{now: []string{string(guardrail.Trip)}}
	toolActionWords   = keys{now: []string{
		string(guardrail.Trip), string(guardrail.Replace), string(guardrail.AskAgain),
	}}
	conversationWords = keys{now: []string{"provider"}}
	apiWords          = keys{now: []string{"responses", "chat_completions"}}
	effortWords       = keys{now: []string{"none", "minimal", "low", "medium", "high", "xhigh"}}
	toolTypeWords     = keys{now: []string{
		string(Function), string(HTTP), string(Shell), string(ApplyPatch), string(MCP), string(HostedMCP),
		string(AgentTool), string(WebSearch), string(External), string(AskTool),
	}}
	functionKeys = keys{
		now: []string{
			"type", "name", "title", "needs_approval", "approval", "version", "idempotent", "timeout", "guardrails",
			inputKey, secretKey,
		},
	}
	httpKeys = keys{
		now: []string{
			"type", "name", "title", "description", "version", "parameters", "method", "url", "headers",
			"allow_addresses",
			"needs_approval", "approval", "idempotent", "timeout", "guardrails", inputKey, secretKey,
		},
	}
	shellKeys = keys{
		now: []string{
			"type", "name", "description", "version", "workdir", "env", "shell", "max_output", "native",
			"needs_approval", "approval", "timeout", "guardrails",
		},
		never: map[string]string{inputKey: noFieldsWhole, secretKey: noSecretWhole},
	}
	patchKeys = keys{
		now: []string{
			"type", "name", "description", "version", "root", "allow", "native",
			"needs_approval", "approval", "timeout", "guardrails",
		},
		never: map[string]string{inputKey: noFieldsWhole, secretKey: noSecretWhole},
	}
	mcpKeys = keys{
		now: []string{
			"type", "server", "require_approval", "allowed_tools", "blocked_tools", "prefix", inputKey, secretKey,
		},
		later: []string{"guardrails"},
	}
	hostedMCPKeys = keys{
		now: []string{
			"type", "server_label", "server_url", "server_description", "headers", "require_approval",
			"allowed_tools", "needs_approval",
		},
		later: []string{"guardrails"},
		never: map[string]string{inputKey: noFieldsProvider, secretKey: noSecretProvider},
	}
	agentToolKeys = keys{
		now: []string{
			"type", "agent", "name", "title", "description", "max_turns", "needs_approval", "approval", "guardrails",
		},
		never: map[string]string{inputKey: noFieldsAgent, secretKey: noSecretAgent},
	}
	webSearchKeys = keys{
		now:   []string{"type", "name"},
		later: []string{"needs_approval", "approval", "guardrails"},
		never: map[string]string{inputKey: noFieldsProvider, secretKey: noSecretProvider},
	}
	externalKeys = keys{
		now: []string{
			"type", "name", "title", "description", "version", "parameters", "needs_approval", "guardrails", "trigger",
			inputKey, secretKey,
		},
		later: []string{"approval"},
	}
	askKeys = keys{
		now:   []string{"type", "name", "description", "version"},
		later: []string{"guardrails"},
		never: map[string]string{
			"needs_approval": noGateAsk, "approval": noGateAsk, inputKey: noFieldsAsk, "parameters": noParametersAsk,
			"trigger": noTriggerAsk, secretKey: noSecretAsk,
		},
	}
	triggerKeys   = keys{now: []string{"method", "url", "headers", "timeout", "idempotent"}}
	mcpServerKeys = keys{now: []string{"command", "env", "dir", "url", "sse", "headers", "trusted", "timeout"}}
	approvalWords = keys{now: []string{"required", "audit"}}
	bodyWords     = keys{now: []string{"POST", "PUT", "PATCH"}}
	methodWords   = keys{now: []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}}
	peopleKeys    = keys{now: []string{"users", "groups", "channel_members"}}
	approverKeys  = keys{now: []string{"users", "groups", "channel_members", "all_of"}}
	policyKeys    = keys{
		now: []string{
			"approvers", "all_of", "quorum", "deny_quorum", "self_approval", "expires_in", "on_expiry", "valid_for",
			"always", "risk", "freeze", "remind_every", "escalate", "notify",
		},
	}
	notifyKeys   = keys{now: []string{"named", "channel"}}
	notifyWords  = keys{now: []string{NotifyAuto, "dm", "mention", "none"}}
	freezeKeys   = keys{now: []string{"from", "to", "except"}}
	riskWords    = keys{now: []string{"normal", "high"}}
	ruleKeys     = keys{now: append([]string{"name", "when"}, policyKeys.now...), later: policyKeys.later}
	escalateKeys = keys{now: []string{"after", "to"}}
	alwaysKeys   = keys{now: []string{"scopes", "max_ttl"}, later: []string{"max_uses"}}
	scopeWords   = keys{now: []string{"run", "thread", "channel", "workspace"}}
	expiryWords  = keys{now: []string{"reject", "cancel", expiryKeep}}
)

// expiryKeep is the word for requests that never expire.
const expiryKeep = "keep"
