package app

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"countersign/approvals"
	"countersign/bot"
	"countersign/store"
	"countersign/store/boltstore"
)

// ErrConfig is wrapped by every error that a person mends in the environment, the agents file or the command line.
var ErrConfig = errors.New("configuration")

// configError is what is wrong, without the word "configuration" in front.
type configError struct{ error }

func (e configError) Unwrap() []error { return []error{ErrConfig, e.error} }

// Misconfigured marks err as one that a person mends: it wraps ErrConfig, and its text stays as it is.
func Misconfigured(err error) error {
	if err == nil {
		return nil
	}
	return configError{err}
}

// ExplainStore adds to an error of opening the store what to do about it. One that is explained already stays as it is.
func ExplainStore(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrConfig):
		return err
	case errors.Is(err, boltstore.ErrInUse):
		return fmt.Errorf("%w; stop that process, or give this one another COUNTERSIGN_STORE", err)
	case errors.Is(err, store.ErrHalf), errors.Is(err, approvals.ErrNewer), errors.Is(err, store.ErrOlder):
		return Misconfigured(fmt.Errorf("COUNTERSIGN_STORE: %w", err))
	case errors.Is(err, store.ErrPlace), errors.Is(err, store.ErrNotStore):
		return Misconfigured(fmt.Errorf("COUNTERSIGN_STORE: %w", err))
	case errors.Is(err, store.ErrURL), errors.Is(err, store.ErrUnsupported), errors.Is(err, store.ErrRefused):
		return Misconfigured(fmt.Errorf("COUNTERSIGN_STORE: %w", err))
	case store.Waits(err):
		return fmt.Errorf("reach the database of COUNTERSIGN_STORE: %w", err)
	case errors.Is(err, store.ErrKeys), errors.Is(err, store.ErrPlain):
		return Misconfigured(fmt.Errorf("COUNTERSIGN_ENCRYPTION_KEYS: %w", err))
	}
	return err
}

// explainFile adds to an error of reading the agents file what to do about it; given says that the file was named on
// the command line.
func explainFile(err error, given bool) error {
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return err
	case given:
		return fmt.Errorf("%w; examples/countersign.yaml is one to start from", err)
	}
	return fmt.Errorf("%w; COUNTERSIGN_AGENTS says where it is, examples/countersign.yaml is one to start from", err)
}

// explainSlack adds to what Slack says what to do about it. A refused token is a matter of configuration.
func explainSlack(err error) error {
	if err == nil {
		return nil
	}
	if refused := refusedTokens(err); refused != nil {
		return Misconfigured(errors.Join(refused...))
	}
	if unreachable, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("reach Slack (SLACK_API_URL): %w", unreachable.Err)
	}
	return err
}

// refusedTokens says of each token that Slack has refused what to do about it.
func refusedTokens(err error) (all []error) {
	switch e := err.(type) {
	case *bot.TokenError:
		return []error{fmt.Errorf("%w; %s", e, mendToken(e.Word))}
	case interface{ Unwrap() []error }:
		for _, part := range e.Unwrap() {
			all = append(all, refusedTokens(part)...)
		}
	case interface{ Unwrap() error }:
		return refusedTokens(e.Unwrap())
	}
	return all
}

// mendToken says what to do about a token that Slack refuses with the word.
func mendToken(word string) string {
	switch word {
	case "team_access_not_granted":
		return "the app has no access to the workspace: have the app added to the workspace by an administrator of " +
			"its organisation, or use the token of a workspace that it was installed in"
	case "ekm_access_denied":
		return "administrators of the workspace have suspended the access (Enterprise Key Management): ask them"
	case "two_factor_setup_required":
		return "the workspace requires two-factor authentication: whoever installed the app sets it up first"
	case "accesslimited":
		return "the app may not be used from this network: look at the allowed addresses on the app's page " +
			"OAuth & Permissions"
	}
	return "copy the token again from the app's settings"
}
