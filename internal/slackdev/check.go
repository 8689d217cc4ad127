package slackdev

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
)

// checker collects what is wrong with a Block Kit document, in Slack's words.
type checker struct{ messages []string }

func (c *checker) add(path, format string, args ...any) {
	c.messages = append(c.messages, fmt.Sprintf("[ERROR] %s [json-pointer:%s]", fmt.Sprintf(format, args...), path))
}

// rule checks one value.
type rule func(c *checker, path string, v any)

// shape is an object with known keys.
type shape struct {
	required []string
	fields   map[string]rule
	extra    func(c *checker, path string, m map[string]any)
}

func (s shape) check(c *checker, path string, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		c.add(path, "must provide an object")
		return
	}
	for _, key := range s.required {
		if m[key] == nil {
			c.add(path, "missing required field: %s", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		check, known := s.fields[key]
		switch {
		case !known:
			c.add(path, "invalid additional property: %s", key)
		case m[key] != nil:
			check(c, path+"/"+key, m[key])
		}
	}
	if s.extra != nil {
		s.extra(c, path, m)
	}
}

// oneOf checks an object by the shape its "type" names.
func oneOf(shapes func() map[string]shape) rule {
	return func(c *checker, path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			c.add(path, "must provide an object")
			return
		}
		kind, ok := m["type"].(string)
		if !ok {
			c.add(path, "missing required field: type")
			return
		}
		s, known := shapes()[kind]
		if !known {
			c.add(path+"/type", "unsupported type: %s", kind)
			return
		}
		s.check(c, path, v)
	}
}

// units counts the characters of a text as JavaScript does, an emoji as two: Slack does not say how it counts.
func units(s string) int { return len(utf16.Encode([]rune(s))) }

// length checks a text of low to high characters.
func length(low, high int) rule {
	return func(c *checker, path string, v any) {
		s, ok := v.(string)
		if !ok {
			c.add(path, "must provide a string")
			return
		}
		n := units(s)
		if n < low {
			c.add(path, "must be more than %d characters", low-1)
		}
		if n > high {
			c.add(path, "must be less than %d characters", high+1)
		}
	}
}

// count checks an array of low to high items, each by item.
func count(low, high int, item rule) rule {
	return func(c *checker, path string, v any) {
		list, ok := v.([]any)
		if !ok {
			c.add(path, "must provide an array")
			return
		}
		if len(list) < low {
			c.add(path, "no fewer than %d items allowed", low)
		}
		if len(list) > high {
			c.add(path, "no more than %d items allowed", high)
		}
		for i, v := range list {
			item(c, fmt.Sprintf("%s/%d", path, i), v)
		}
	}
}

func boolean(c *checker, path string, v any) {
	if _, ok := v.(bool); !ok {
		c.add(path, "must be a valid boolean")
	}
}

// between checks a whole number.
func between(low, high float64) rule {
	return func(c *checker, path string, v any) {
		n, ok := v.(float64)
		if !ok || n != float64(int64(n)) {
			c.add(path, "must be a valid integer")
			return
		}
		if n < low || n > high {
			c.add(path, "must be between %g and %g", low, high)
		}
	}
}

// among checks a text of a fixed set.
func among(words ...string) rule {
	return func(c *checker, path string, v any) {
		s, ok := v.(string)
		if !ok || !slices.Contains(words, s) {
			c.add(path, "must be a valid enum value")
		}
	}
}

// webURL checks an absolute http, https or mailto address.
func webURL(high int) rule {
	within := length(1, high)
	return func(c *checker, path string, v any) {
		within(c, path, v)
		s := str(v)
		schemes := []string{"http://", "https://", "mailto:", "slack://"}
		if !slices.ContainsFunc(schemes, func(scheme string) bool { return strings.HasPrefix(s, scheme) }) {
			c.add(path, "must be a valid url")
		}
	}
}

func anything(*checker, string, any) {}

// idOf checks a Slack id by its first letter.
func idOf(letters string) rule {
	return func(c *checker, path string, v any) {
		if !isID(str(v), letters) {
			c.add(path, "must be a valid id")
		}
	}
}

// plainText is a plain_text object; text adds mrkdwn.
func plainText(low, high int) rule {
	return shape{
		required: []string{"type", "text"},
		fields:   map[string]rule{"type": among("plain_text"), "text": length(low, high), "emoji": boolean},
	}.check
}

func text(low, high int) rule {
	return oneOf(func() map[string]shape {
		return map[string]shape{
			"plain_text": {
				required: []string{"text"},
				fields:   map[string]rule{"type": anything, "text": length(low, high), "emoji": boolean},
			},
			"mrkdwn": {
				required: []string{"text"},
				fields:   map[string]rule{"type": anything, "text": length(low, high), "verbatim": boolean},
			},
		}
	})
}
