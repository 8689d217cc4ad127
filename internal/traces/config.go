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

// forTraces returns the variable of a pair that goes first: the one for traces, else the one for all signals.
func (v Variables) forTraces(name string) string {
	return cmp.Or(v("OTEL_EXPORTER_OTLP_TRACES_"+name), v("OTEL_EXPORTER_OTLP_"+name))
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
	if p := v.forTraces("PROTOCOL"); p != "" && p != "http/protobuf" {
		add("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; use http/protobuf", p)
	}
	for _, name := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if v.forTraces(name) != "" {
			add("OTEL_EXPORTER_OTLP_%s is not supported; SSL_CERT_FILE names authorities of your own", name)
		}
	}
	if s := v("OTEL_TRACES_SAMPLER"); !slices.Contains(samplers, s) {
		add("OTEL_TRACES_SAMPLER: %q is none of%s", s, strings.Join(samplers, " "))
	}
	c := &Config{timeout: defaultTimeout}
	var err error
	if c.endpoint, err = v.endpoint(); err != nil {
		problems = append(problems, err)
	}
	if c.headers, err = readHeaders(v.forTraces("HEADERS")); err != nil {
		problems = append(problems, err)
	}
	if c.gzip, err = v.compressed(); err != nil {
		problems = append(problems, err)
	}
	if n, err := strconv.Atoi(v("OTEL_BSP_MAX_QUEUE_SIZE")); err == nil && n > 0 { // else as the SDK has it
		c.queue = n
	}
	if t := v.forTraces("TIMEOUT"); t != "" {
		ms, err := strconv.Atoi(t)
		if err != nil || ms <= 0 {
			add("OTEL_EXPORTER_OTLP_TIMEOUT: %q is no number of milliseconds", t)
		}
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	return c, problems
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
	}
	return value, nil
}

func (v Variables) compressed() (bool, error) {
	switch c := v.forTraces("COMPRESSION"); c {
	case "", "none":
		return false, nil
	case "gzip":
		return true, nil
	default:
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION: %q is neither gzip nor none", c)
	}
}

var errHeaders = errors.New("OTEL_EXPORTER_OTLP_HEADERS is no list of name=value pairs, separated by commas")

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
