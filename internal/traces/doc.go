// Package traces sends the spans of runs where OpenTelemetry's standard variables say.
//
// It exports over OTLP/HTTP in protobuf, and is off unless OTEL_TRACES_EXPORTER is otlp. The usual exporter package
// comes with gRPC, which would make the program half as large again; this one posts what the SDK's own transformation
// makes (docs/adr/0001-dependencies.md).
//
//	config    the variables, and what is wrong with them
//	client    one request for each batch, tried again as the protocol says
//	provider  the SDK's provider, and how it ends
package traces
