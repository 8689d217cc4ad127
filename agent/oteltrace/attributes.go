package oteltrace

import (
	"log/slog"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"countersign/agent"
	"countersign/agent/trace"
)

// own begins the names of attributes for which the conventions have no word.
const own = "countersign."

// spanName returns the operation and what it is about, as the conventions want it.
func spanName(s trace.Start) string {
	operation := string(s.Kind)
	if op, ok := operationOf(s.Kind); ok {
		operation = op.Value.AsString()
	}
	if s.Name == "" || s.Kind == trace.Turn {
		return operation
	}
	return operation + " " + s.Name
}

// operationOf returns the conventions' name of an operation, if they have one.
func operationOf(kind trace.Kind) (attribute.KeyValue, bool) {
	switch kind {
	case trace.Run, trace.Agent:
		return semconv.GenAIOperationNameInvokeAgent, true
	case trace.Model:
		return semconv.GenAIOperationNameChat, true
	case trace.Tool:
		return semconv.GenAIOperationNameExecuteTool, true
	}
	return attribute.KeyValue{}, false
}

// startAttributes returns what a span has from its beginning, so that samplers see it.
func startAttributes(s trace.Start) []attribute.KeyValue {
	attrs := make([]attribute.KeyValue, 0, len(s.Attrs)+2)
	if operation, ok := operationOf(s.Kind); ok {
		attrs = append(attrs, operation)
	}
	if s.Kind == trace.Guardrail {
		attrs = append(attrs, attribute.String(own+"guardrail.name", s.Name))
	}
	for _, a := range s.Attrs {
		attrs = append(attrs, attributeOf(a))
		if a.Key == trace.AttrToolKind {
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
	case trace.AttrAgent:
		return semconv.GenAIAgentNameKey
	case trace.AttrProvider:
		return semconv.GenAIProviderNameKey
	case trace.AttrModel:
		return semconv.GenAIRequestModelKey
	case trace.AttrConversation:
		return semconv.GenAIConversationIDKey
	case trace.AttrStream:
		return semconv.GenAIRequestStreamKey
	case trace.AttrResponse:
		return semconv.GenAIResponseIDKey
	case trace.AttrInputTokens:
		return semconv.GenAIUsageInputTokensKey
	case trace.AttrCachedTokens:
		return semconv.GenAIUsageCacheReadInputTokensKey
	case trace.AttrOutputTokens:
		return semconv.GenAIUsageOutputTokensKey
	case trace.AttrReasoningTokens:
		return semconv.GenAIUsageReasoningOutputTokensKey
	case trace.AttrTool:
		return semconv.GenAIToolNameKey
	case trace.AttrCall:
		return semconv.GenAIToolCallIDKey
	}
	return ownKey(key)
}

// ownKey returns the name of an attribute for which the conventions have no word.
func ownKey(key string) attribute.Key {
	switch key {
	case trace.AttrRun:
		return own + "run.id"
	case trace.AttrRequest:
		return own + "request.id"
	case trace.AttrNotification:
		return own + "notification.id"
	case trace.AttrPerson:
		return own + "person.id"
	case trace.AttrDelivery:
		return own + "delivery.attempt"
	case trace.AttrEpoch:
		return own + "run.epoch"
	case trace.AttrToolKind:
		return own + "tool.kind"
	case trace.AttrInterruption:
		return own + "interruption.id"
	case trace.AttrQuestion:
		return own + "question.kind"
	case trace.AttrAttempt:
		return own + "question.attempt"
	case trace.AttrAlways:
		return own + "verdict.always"
	case trace.AttrStage:
		return own + "guardrail.stage"
	case trace.AttrTo:
		return own + "handoff.to"
	}
	return attribute.Key(own + key)
}
