package oteltrace

import (
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"countersign/agent"
)

// own begins the names of attributes for which the conventions have no word.
const own = "countersign."

// spanName returns the operation and what it is about, as the conventions want it.
func spanName(s agent.SpanStart) string {
	operation := string(s.Kind)
	if op, ok := operationOf(s.Kind); ok {
		operation = op.Value.AsString()
	}
	if s.Name == "" || s.Kind == agent.SpanTurn {
		return operation
	}
	return operation + " " + s.Name
}

// operationOf returns the conventions' name of an operation, if they have one.
func operationOf(kind agent.SpanKind) (attribute.KeyValue, bool) {
	switch kind {
	case agent.SpanRun, agent.SpanAgent:
		return semconv.GenAIOperationNameInvokeAgent, true
	case agent.SpanModel:
		return semconv.GenAIOperationNameChat, true
	case agent.SpanTool:
		return semconv.GenAIOperationNameExecuteTool, true
	}
	return attribute.KeyValue{}, false
}

// startAttributes returns what a span has from its beginning, so that samplers see it.
func startAttributes(s agent.SpanStart) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, len(s.Attrs)+2)
	if operation, ok := operationOf(s.Kind); ok {
		attrs = append(attrs, operation)
	}
	if s.Kind == agent.SpanGuardrail {
		attrs = append(attrs, attribute.String(own+"guardrail.name", s.Name))
	}
	for _, a := range s.Attrs {
		attrs = append(attrs, attributeOf(a))
		if a.Key == agent.AttrToolKind {
			attrs = append(attrs, toolType(agent.ToolKind(a.Value.String())))
		}
	}
	return attrs
}

// toolType is the conventions' coarser kind of a tool.
func toolType(kind agent.ToolKind) attribute.KeyValue {
	if kind == agent.KindFunction {
		return semconv.GenAIToolTypeKey.String("function")
	}
	return semconv.GenAIToolTypeKey.String("extension")
}

func attributeOf(a slog.Attr) attribute.KeyValue {
	key := keyOf(a.Key)
	switch v := a.Value; v.Kind() {
	case slog.KindInt64:
		return key.Int64(v.Int64())
	case slog.KindBool:
		return key.Bool(v.Bool())
	default:
		return key.String(v.String())
	}
}

// keyOf returns the name of an attribute.
func keyOf(key string) attribute.Key {
	switch key {
	case agent.AttrAgent:
		return semconv.GenAIAgentNameKey
	case agent.AttrProvider:
		return semconv.GenAIProviderNameKey
	case agent.AttrModel:
		return semconv.GenAIRequestModelKey
	case agent.AttrConversation:
		return semconv.GenAIConversationIDKey
	case agent.AttrStream:
		return semconv.GenAIRequestStreamKey
	case agent.AttrResponse:
		return semconv.GenAIResponseIDKey
	case agent.AttrInputTokens:
		return semconv.GenAIUsageInputTokensKey
	case agent.AttrCachedTokens:
		return semconv.GenAIUsageCacheReadInputTokensKey
	case agent.AttrOutputTokens:
		return semconv.GenAIUsageOutputTokensKey
	case agent.AttrReasoningTokens:
		return semconv.GenAIUsageReasoningOutputTokensKey
	case agent.AttrTool:
		return semconv.GenAIToolNameKey
	case agent.AttrCall:
		return semconv.GenAIToolCallIDKey
	}
	return ownKey(key)
}

// ownKey returns the name of an attribute for which the conventions have no word.
func ownKey(key string) attribute.Key {
	switch key {
	case agent.AttrRun:
		return own + "run.id"
	case agent.AttrToolKind:
		return own + "tool.kind"
	case agent.AttrInterruption:
		return own + "interruption.id"
	case agent.AttrQuestion:
		return own + "question.kind"
	case agent.AttrAttempt:
		return own + "question.attempt"
	case agent.AttrAlways:
		return own + "verdict.always"
	case agent.AttrStage:
		return own + "guardrail.stage"
	case agent.AttrTo:
		return own + "handoff.to"
	}
	return attribute.Key(own + key)
}
