package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"countersign/bot"
)

// checkSlack asks Slack about the tokens. Missing scopes are said and not fatal: what needs them does not work.
func (s *server) checkSlack(ctx context.Context) error {
	err := s.bot.Check(ctx)
	if scopes, ok := errors.AsType[*bot.ScopeError](err); ok {
		s.log.Error("the Slack app lacks scopes; what needs them will not work", "missing", scopes.Missing)
		return nil
	}
	return explainSlack(err)
}

// explainSlack adds to what Slack says what to do about it. A refused token is a matter of configuration.
func explainSlack(err error) error {
	if err == nil {
		return nil
	}
	if refused, ok := errors.AsType[*bot.TokenError](err); ok {
		return misconfigured(fmt.Errorf("%w; copy the token again from the app's settings", refused))
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("reach Slack (SLACK_API_URL): %w", unreachable.Err)
	}
	return err
}
