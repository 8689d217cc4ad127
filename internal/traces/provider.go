package traces

import (
	"context"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"

	"countersign/agent/oteltrace"
	"countersign/agent/trace"
)

// Provider exports the spans of runs in batches. A nil one traces nothing.
type Provider struct {
	sdk *sdktrace.TracerProvider
	log *slog.Logger
	end func() // cancels what is being sent
}

// New returns a Provider that sends spans as cfg says, of a service with the name countersign, unless a variable says
// otherwise, and the version. Without cfg there is none.
func New(ctx context.Context, cfg *Config, version string, log *slog.Logger) (*Provider, error) {
	if cfg == nil {
		return nil, nil
	}
	ending, end := context.WithCancel(context.WithoutCancel(ctx)) // it goes on while the program is told to stop
	p, err := newProvider(ctx, newClient(ending, cfg, log), version)
	if err != nil {
		end()
		return nil, err
	}
	p.end = end
	return p, nil
}

func newProvider(ctx context.Context, c *client, version string) (*Provider, error) {
	// Later options go before earlier ones: a name in the environment is the service's.
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("countersign"), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	exporter, err := otlptrace.New(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("start the exporter of traces: %w", err)
	}
	sdk := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(newQueue(exporter, c.cfg.queue, c.log)), sdktrace.WithResource(about))
	return &Provider{sdk: sdk, log: c.log}, nil
}

// Tracer returns what a Runner follows its runs with, or nil.
func (p *Provider) Tracer() trace.Tracer {
	if p == nil {
		return nil
	}
	return oteltrace.New(p.sdk)
}

// Close sends what is left, until ctx ends, and drops the rest. Nothing is traced afterwards.
func (p *Provider) Close(ctx context.Context) {
	if p == nil {
		return
	}
	defer p.end()
	if err := p.sdk.Shutdown(ctx); err != nil {
		p.log.Warn("not all traces were sent", "error", err)
	}
}
