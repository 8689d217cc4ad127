package traces

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// defaultEndpoint is where a collector listens on the same machine.
const defaultEndpoint = "http://localhost:4318"

// defaultTimeout bounds the export of a batch.
const defaultTimeout = 10 * time.Second

// Variables look up OpenTelemetry's variables, as os.Getenv does. An empty one counts as not set.
type Variables func(name string) string

// forTraces returns the variable of a pair that goes first, and its name: the one for traces, else the one for all
// signals.
func (v Variables) forTraces(of string) (name, value string) {
	if name = "OTEL_EXPORTER_OTLP_TRACES_" + of; v(name) != "" {
		return name, v(name)
	}
	name = "OTEL_EXPORTER_OTLP_" + of
	return name, v(name)
}

// Config says where spans go.
type Config struct {
	endpoint string
	headers  http.Header
	timeout  time.Duration
	gzip     bool
	queue    int // how many spans are kept that were not sent; 0: as many as the SDK does
}

// Format shows nothing of what is in it, whatever the verb: headers hold credentials.
func (c *Config) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[traces]") }

// LogValue does the same for logs.
func (c *Config) LogValue() slog.Value { return slog.StringValue("[traces]") }

// samplers are the values of OTEL_TRACES_SAMPLER that the SDK knows.
var samplers = []string{"", "always_on", "always_off", "traceidratio", "parentbased_always_on",
	"parentbased_always_off", "parentbased_traceidratio"}

// Read reads the variables. A nil Config means that there are to be no traces. The problems name variables and hold no
// values that may be secret.
func Read(v Variables) (*Config, []error) {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch exporter := v("OTEL_TRACES_EXPORTER"); {
	case exporter == "", exporter == "none", strings.EqualFold(v("OTEL_SDK_DISABLED"), "true"):
		return nil, nil
	case exporter != "otlp":
		add("OTEL_TRACES_EXPORTER: %q is neither otlp nor none", exporter)
	}
	if name, p := v.forTraces("PROTOCOL"); p != "" && p != "http/protobuf" {
		add("%s: %q is not supported; use http/protobuf", name, p)
	}
	for _, of := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if name, file := v.forTraces(of); file != "" {
			add("%s is not supported; SSL_CERT_FILE names authorities of your own", name)
		}
	}
	problems = append(problems, v.checkBatches()...)
	for _, err := range []error{v.checkSampler(), v.checkResource()} {
		if err != nil {
			problems = append(problems, err)
		}
	}
	c := &Config{timeout: defaultTimeout}
	var err error
	if c.endpoint, err = v.endpoint(); err != nil {
		problems = append(problems, err)
	}
	headers, pairs := v.forTraces("HEADERS")
	if c.headers, err = readHeaders(pairs); err != nil {
		add("%s %w", headers, err)
	}
	if c.gzip, err = v.compressed(); err != nil {
		problems = append(problems, err)
	}
	if n, err := strconv.Atoi(v(queueSize)); err == nil {
		c.queue = n
	}
	if name, t := v.forTraces("TIMEOUT"); t != "" {
		ms, err := strconv.Atoi(t)
		if err != nil || ms <= 0 || ms > mostMilliseconds {
			add("%s: %q is no number of milliseconds", name, t)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	return c, problems
}

// The variables for batches that the SDK reads by itself, and takes as they are: with some values it panics, or never
// rests.
const (
	queueSize     = "OTEL_BSP_MAX_QUEUE_SIZE"
	batchSize     = "OTEL_BSP_MAX_EXPORT_BATCH_SIZE"
	scheduleDelay = "OTEL_BSP_SCHEDULE_DELAY"
	exportTimeout = "OTEL_BSP_EXPORT_TIMEOUT"

	mostSpans        = 1 << 20 // memory for so many is taken at the start
	mostMilliseconds = 24 * 60 * 60 * 1000
)

func (v Variables) checkBatches() (problems []error) {
	for _, number := range []struct {
		name, of string
		from, to int
	}{
		{queueSize, "spans", 1, mostSpans},
		{batchSize, "spans", 1, mostSpans},
		{scheduleDelay, "milliseconds", 1, mostMilliseconds},
		{exportTimeout, "milliseconds", 0, mostMilliseconds},
	} {
		value := v(number.name)
		if value == "" {
			continue
		}
		if n, err := strconv.Atoi(value); err != nil || n < number.from || n > number.to {
			problems = append(problems, fmt.Errorf("%s: %q is no number of %s from %d to %d",
				number.name, value, number.of, number.from, number.to))
		}
	}
	return problems
}

func (v Variables) checkSampler() error {
	s, argument := v("OTEL_TRACES_SAMPLER"), v("OTEL_TRACES_SAMPLER_ARG")
	if !slices.Contains(samplers, s) {
		return fmt.Errorf("OTEL_TRACES_SAMPLER: %q is none of%s", s, strings.Join(samplers, " "))
	}
	if !strings.HasSuffix(s, "traceidratio") || argument == "" {
		return nil
	}
	if ratio, err := strconv.ParseFloat(argument, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
		return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is no number from 0 to 1, the part of the traces that is kept",
			argument)
	}
	return nil
}

// checkResource judges what the SDK refuses when the provider is made, which is too late for who only checks.
func (v Variables) checkResource() error {
	pairs := strings.TrimSpace(v("OTEL_RESOURCE_ATTRIBUTES"))
	if pairs == "" {
		return nil
	}
	for pair := range strings.SplitSeq(pairs, ",") {
		if !strings.Contains(pair, "=") {
			return errors.New("OTEL_RESOURCE_ATTRIBUTES is no list of name=value pairs, separated by commas")
		}
	}
	return nil
}

// endpoint returns the URL for batches. A path is added to the one for all signals only.
func (v Variables) endpoint() (string, error) {
	name, value := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", v("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
	if value == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		value = strings.TrimSuffix(cmp.Or(v(name), defaultEndpoint), "/") + "/v1/traces"
	}
	u, err := url.Parse(value)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("%s is no http or https URL", name)
	case u.User != nil:
		return "", fmt.Errorf("%s holds a user; put credentials into OTEL_EXPORTER_OTLP_HEADERS", name)
	case u.Fragment != "" || u.RawQuery != "" && name == "OTEL_EXPORTER_OTLP_ENDPOINT":
		return "", fmt.Errorf("%s holds a query or a fragment, and /v1/traces would stand behind it; "+
			"set the whole URL as OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", name)
	}
	return value, nil
}

func (v Variables) compressed() (bool, error) {
	switch name, c := v.forTraces("COMPRESSION"); c {
	case "", "none":
		return false, nil
	case "gzip":
		return true, nil
	default:
		return false, fmt.Errorf("%s: %q is neither gzip nor none", name, c)
	}
}

var errHeaders = errors.New("is no list of name=value pairs, separated by commas")

// readHeaders reads name=value pairs, separated by commas, values percent-encoded.
func readHeaders(s string) (http.Header, error) {
	headers := make(http.Header)
	for pair := range strings.SplitSeq(s, ",") {
		if pair = strings.TrimSpace(pair); pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || err != nil || !isHeader(name, value) {
			return nil, errHeaders
		}
		headers.Add(name, value)
	}
	return headers, nil
}

func isHeader(name, value string) bool {
	odd := func(c rune) bool { return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c) }
	return name != "" && !strings.ContainsFunc(name, odd) &&
		!strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f })
}
