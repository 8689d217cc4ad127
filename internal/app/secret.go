package app

import (
	"fmt"
	"log/slog"
)

// Secret is a value that is never shown: printing, logging and encoding it give a placeholder. Reveal is the one way
// to the value.
type Secret struct{ value string }

const hidden = "[secret]"

// NewSecret wraps the value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value.
func (s Secret) Reveal() string { return s.value }

// Set reads the value from the environment. It is part of envconfig.Setter and never fails.
func (s *Secret) Set(value string) error {
	s.value = value
	return nil
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.value != "" }

// String returns a placeholder, or nothing when there is no value.
func (s Secret) String() string {
	if s.value == "" {
		return ""
	}
	return hidden
}

// GoString is String.
func (s Secret) GoString() string { return s.String() }

// Format writes the placeholder whatever the verb.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, s.String()) }

// LogValue logs the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText encodes the placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
