package traces

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

func variables(pairs ...string) Variables {
	return func(name string) string {
		for _, p := range pairs {
			if n, value, _ := strings.Cut(p, "="); n == name {
				return value
			}
		}
		return ""
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const on = "OTEL_TRACES_EXPORTER=otlp"
	const local = "http://localhost:4318/v1/traces"
	for name, tt := range map[string]struct {
		vars Variables
		want *Config
	}{
		"nothing set":                {variables(), nil},
		"an endpoint is no exporter": {variables("OTEL_EXPORTER_OTLP_ENDPOINT=http://h:1"), nil},
		"none":                       {variables("OTEL_TRACES_EXPORTER=none"), nil},
		"disabled":                   {variables(on, "OTEL_SDK_DISABLED=True"), nil},
		"defaults":                   {variables(on), &Config{endpoint: local, timeout: 10 * time.Second}},
		"for all signals": {variables(on, "OTEL_EXPORTER_OTLP_ENDPOINT=https://h:1/base/",
			"OTEL_EXPORTER_OTLP_TIMEOUT=1500", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
			"OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf", "OTEL_EXPORTER_OTLP_HEADERS=X-A=1"),
			&Config{endpoint: "https://h:1/base/v1/traces", timeout: 1500 * time.Millisecond, gzip: true,
				headers: http.Header{"X-A": {"1"}}}},
		"for traces": {variables(on, "OTEL_EXPORTER_OTLP_ENDPOINT=https://h:1",
			"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://t:2/x",
			"OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=authorization=Bearer%20x%2Cy, b = 2 ,",
			"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf"),
			&Config{endpoint: "https://t:2/x", timeout: 10 * time.Second,
				headers: http.Header{"Authorization": {"Bearer x,y"}, "B": {"2"}}}},
	} {
		got, problems := Read(tt.vars)
		if problems != nil {
			t.Errorf("%s: %v", name, problems)
		}
		if got != nil && len(got.headers) == 0 {
			got.headers = nil
		}
		if diff := gocmp.Diff(tt.want, got, gocmp.AllowUnexported(Config{})); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestReadProblems names the variable, and never a value that may be a secret.
func TestReadProblems(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ variable, want string }{
		{"OTEL_TRACES_EXPORTER=zipkin", `OTEL_TRACES_EXPORTER: "zipkin" is neither otlp nor none`},
		{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "use http/protobuf"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/json", "use http/protobuf"},
		{"OTEL_EXPORTER_OTLP_CERTIFICATE=/ca.pem", "OTEL_EXPORTER_OTLP_CERTIFICATE is not supported"},
		{"OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY=/key.pem", "OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY is not supported"},
		{"OTEL_TRACES_SAMPLER=jaeger_remote", "OTEL_TRACES_SAMPLER"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317", "OTEL_EXPORTER_OTLP_ENDPOINT is no http or https URL"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://me:CANARY@host/", "_OTLP_TRACES_ENDPOINT holds a user"},
		{"OTEL_EXPORTER_OTLP_HEADERS=CANARY", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=CANARY%0d%0ab", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_EXPORTER_OTLP_HEADERS=a b=CANARY", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_EXPORTER_OTLP_HEADERS=a=%zz", "OTEL_EXPORTER_OTLP_HEADERS"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=10s", "milliseconds"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=0", "milliseconds"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT=9223372036854775807", "milliseconds"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "neither gzip nor none"},
		{"OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=10s", `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: "10s"`},
		{"OTEL_EXPORTER_OTLP_TRACES_COMPRESSION=zstd", `OTEL_EXPORTER_OTLP_TRACES_COMPRESSION: "zstd"`},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS=CANARY", "OTEL_EXPORTER_OTLP_TRACES_HEADERS is no list"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT=https://h/?key=CANARY", "URL as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"},
		{"OTEL_RESOURCE_ATTRIBUTES=a=b,CANARY", "OTEL_RESOURCE_ATTRIBUTES is no list of name=value pairs"},
		{"OTEL_RESOURCE_ATTRIBUTES=a=b,", "OTEL_RESOURCE_ATTRIBUTES is no list of name=value pairs"},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=-4", `"-4" is no number of spans from 1 to 1048576`},
		{"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=99999999999", "is no number of spans"},
		{"OTEL_BSP_MAX_QUEUE_SIZE=-1", "OTEL_BSP_MAX_QUEUE_SIZE"},
		{"OTEL_BSP_SCHEDULE_DELAY=0", "is no number of milliseconds from 1"},
		{"OTEL_BSP_SCHEDULE_DELAY=5s", "OTEL_BSP_SCHEDULE_DELAY"},
		{"OTEL_BSP_EXPORT_TIMEOUT=-1", "OTEL_BSP_EXPORT_TIMEOUT"},
	} {
		_, problems := Read(variables(tt.variable, "OTEL_TRACES_EXPORTER=otlp"))
		text := fmt.Sprint(errors.Join(problems...))
		if len(problems) != 1 || !strings.Contains(text, tt.want) || strings.Contains(text, "CANARY") {
			t.Errorf("%s: %q, want one with %q", tt.variable, problems, tt.want)
		}
	}
}

// TestReadSampler judges the argument of those samplers that have one.
func TestReadSampler(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		sampler, argument string
		problems          int
	}{
		{"traceidratio", "0.1", 0}, {"parentbased_traceidratio", "1", 0}, {"traceidratio", "", 0},
		{"traceidratio", "ten", 1}, {"parentbased_traceidratio", "10", 1}, {"traceidratio", "NaN", 1},
		{"always_on", "ten", 0},
	} {
		_, problems := Read(variables("OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER="+tt.sampler,
			"OTEL_TRACES_SAMPLER_ARG="+tt.argument))
		if len(problems) != tt.problems {
			t.Errorf("%+v: %q", tt, problems)
		}
	}
}

// TestConfigIsSecret prints a Config in every way.
func TestConfigIsSecret(t *testing.T) {
	t.Parallel()
	c := &Config{headers: http.Header{"Authorization": {"CANARY"}}}
	outer := struct{ Inner *Config }{c}
	got := fmt.Sprintf("%v %+v %#v %s %+v", c, c, c, c, outer) + c.LogValue().String()
	if strings.Contains(got, "CANARY") {
		t.Error(got)
	}
}
