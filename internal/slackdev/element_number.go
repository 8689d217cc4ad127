package slackdev

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// written is what Slack's client lets somebody type into a number_input.
var written = regexp.MustCompile(`^-?[0-9]*\.?[0-9]+$`)

// acceptNumber applies what Slack's client checks of a number_input before it submits: is_decimal_allowed, min_value
// and max_value (Slack's reference of block elements, "Number input").
func (e element) acceptNumber(s string) error {
	n, ok := new(big.Rat).SetString(s)
	if !ok || !written.MatchString(s) {
		return fmt.Errorf("%s is no number: %w", e.blockID, ErrInvalidInput)
	}
	if decimal, _ := e.def["is_decimal_allowed"].(bool); !decimal && strings.Contains(s, ".") {
		return fmt.Errorf("%s takes no decimals: %w", e.blockID, ErrInvalidInput)
	}
	if low, ok := new(big.Rat).SetString(str(e.def["min_value"])); ok && n.Cmp(low) < 0 {
		return fmt.Errorf("%s is less than %s: %w", e.blockID, str(e.def["min_value"]), ErrInvalidInput)
	}
	if high, ok := new(big.Rat).SetString(str(e.def["max_value"])); ok && n.Cmp(high) > 0 {
		return fmt.Errorf("%s is more than %s: %w", e.blockID, str(e.def["max_value"]), ErrInvalidInput)
	}
	return nil
}
