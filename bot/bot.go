package bot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"time"

	"countersign/agent/trace"
	"countersign/approvals"
)

// Service is what the bot needs of approvals.Service.
type Service interface {
	Submit(ctx context.Context, in approvals.Submission) (approvals.Receipt, error)
	DecideOn(ctx context.Context, seen *approvals.Request, d approvals.Decision) (*approvals.Request, error)
	CancelRun(
		ctx context.Context, ws approvals.WorkspaceID, id approvals.RunID, by approvals.UserID, reason string,
	) (*approvals.Run, error)
	Run(ctx context.Context, ws approvals.WorkspaceID, id approvals.RunID) (*approvals.Run, error)
	Request(ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error)
	Requests(ctx context.Context, ws approvals.WorkspaceID, ids []approvals.RequestID) ([]*approvals.Request, error)
	Contents(ctx context.Context, heads []*approvals.RequestHead) ([]*approvals.Request, error)
	Recorded(ctx context.Context, ws approvals.WorkspaceID, id approvals.RequestID) (*approvals.Request, error)
	Pending(ctx context.Context, q approvals.PendingQuery) (approvals.PendingPage, error)
	NewestPending(ctx context.Context, ws approvals.WorkspaceID, limit int) ([]*approvals.Request, error)
	History(ctx context.Context, q approvals.HistoryQuery) (approvals.HistoryPage, error)
	MayDecide(ctx context.Context, r *approvals.Request, u approvals.UserID) error
	Progress(ctx context.Context, r *approvals.Request) (*approvals.Progress, error)
	MaySee(ctx context.Context, r *approvals.Request, u approvals.UserID) error
	Precedent(ctx context.Context, r *approvals.Request, u approvals.UserID) (*approvals.Precedent, error)
	GrantsFor(ctx context.Context, by approvals.UserID, most int) (
		list []approvals.GrantView, more bool, err error)
	Reveal(ctx context.Context, in approvals.RevealIn) (*approvals.Request, error)
	RevokeGrant(ctx context.Context, v approvals.Revocation) (*approvals.Grant, error)
	DecideAll(ctx context.Context, b approvals.Batch) ([]approvals.BatchAnswer, error)
	AskBack(ctx context.Context, in approvals.AskBackIn) (*approvals.Request, error)
	AnswerBack(ctx context.Context, in approvals.AnswerBackIn) (*approvals.Request, error)
	IssueCallback(ctx context.Context, in approvals.CallbackIssue) (approvals.CallbackAddress, error)
	ShowAgain(ctx context.Context, ws approvals.WorkspaceID, channel string) error
	ShownAtHome(ctx context.Context, u approvals.UserID, ids ...approvals.RequestID) error
	BeginStream(ctx context.Context, ws approvals.WorkspaceID, id approvals.RunID, epoch int64) (number int, err error)
	ActiveRun(ctx context.Context, ws approvals.WorkspaceID, p approvals.Place) (*approvals.Run, error)
	Awaited(ctx context.Context, r *approvals.Request, sets ...approvals.Approvers) (approvals.Awaited, error)
}

// Mode is the way Slack delivers events, clicks and commands.
type Mode string

// The modes.
const (
	ModeSocket Mode = "socket" // over WebSockets that the bot opens
	ModeHTTP   Mode = "http"   // as signed requests to Handler
)

// Config says what a Bot works with.
type Config struct {
	// Client calls the Web API; required.
	Client *Client
	// Service records and answers; required.
	Service Service
	// Mode is ModeSocket when empty.
	Mode Mode
	// AppToken opens Socket Mode connections (SLACK_APP_TOKEN); required in ModeSocket.
	AppToken string
	// SigningSecret proves that requests come from Slack (SLACK_SIGNING_SECRET); required in ModeHTTP.
	SigningSecret string
	// DefaultAgent is the agent that a mention asks for; required. The service may choose another one for the channel.
	DefaultAgent string
	// SharedAnswers reports whether what agents answer may be read in channels that are shared with other
	// organisations. Nil: it may not, and goes to whoever asked.
	SharedAnswers func() bool
	// Alone says that no other process delivers the notifications of the same store, nor takes in what people do in
	// Slack. Where it is false, Notification.Begun says whether another one may have posted it, and what others may
	// have learnt of is asked for more often.
	Alone bool
	// Prompts lists what the assistant's panel proposes for an agent, at most four; nil: nothing.
	Prompts func(agent string) []Prompt
	// Tracer follows what people do, up to its acknowledgement and what is said about it, for a tracing system. It may
	// be nil.
	Tracer trace.Tracer
	// Logger receives what operators should know: no arguments, no message texts, no secrets. It may be nil.
	Logger *slog.Logger
}

// Bot takes what people do in Slack to the service, and shows them what comes of it.
type Bot struct {
	client  *Client
	service Service
	mode    Mode
	app     string
	secret  string
	agent   string
	tracer  trace.Tracer
	log     *slog.Logger

	hooks     *hookSender
	pace      *pacing
	roots     *roots
	way       *rightOfWay
	doubts    doubts
	unsent    doubts // of the notifications that only this process delivers: what was put off, and nobody has posted
	homes     *homes
	lists     lists
	alone     bool
	marks     marking
	started   time.Time
	work      *work
	socket    *socket
	ended     chan error // why intake cannot go on, at most one
	ready     readiness  // HTTP mode
	refused   refusals   // HTTP mode
	warn      warnings
	edits     places          // events of edits in direct messages that were answered
	corrected places          // requests about which somebody was told that their message decides nothing
	landing   []time.Duration // waits for an acknowledgement to land: see updateAnswered
	closed    closures        // conversations whose threads the app may not read, and methods that it may not call

	sharedAnswers func() bool
	prompts       func(agent string) []Prompt
	chats         places // of the assistant's panel, in which nothing has been asked yet

	statuses *statuses
	streams  *streams
	begin    func() // closes begun, once
	begun    chan struct{}

	intake func(kind string, payload json.RawMessage, back receipts) // what requests hold goes to take; see Workspaces
}

// New checks the configuration and returns a bot. It makes no request: see Check and Run.
func New(cfg Config) (*Bot, error) {
	switch {
	case cfg.Client == nil:
		return nil, errors.New("bot: Client is missing")
	case cfg.Service == nil:
		return nil, errors.New("bot: Service is missing")
	case cfg.DefaultAgent == "":
		return nil, errors.New("bot: DefaultAgent is missing")
	}
	if cfg.Mode == "" {
		cfg.Mode = ModeSocket
	}
	if err := checkMode(cfg); err != nil {
		return nil, err
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	api, err := url.Parse(cfg.Client.apiURL)
	if err != nil {
		return nil, fmt.Errorf("bot: %w", err)
	}
	b := &Bot{
		client: cfg.Client, service: cfg.Service, mode: cfg.Mode, app: cfg.AppToken, secret: cfg.SigningSecret,
		agent: cfg.DefaultAgent, tracer: cfg.Tracer, log: cfg.Logger, alone: cfg.Alone, prompts: cfg.Prompts,
		sharedAnswers: cfg.SharedAnswers,
		hooks:         newHookSender(cfg.Client.http, api), pace: newPacing(), roots: newRoots(),
		way: newRightOfWay(), started: time.Now(), marks: marking{since: time.Now()},
		homes: newHomes(), lists: lists{every: digestEvery},
		work: newWork(cfg.Logger), ended: make(chan error, 1),
		statuses: newStatuses(), streams: newStreams(), landing: untilLanded(),
	}
	b.socket, b.intake, b.begun = newSocket(b), b.take, make(chan struct{})
	b.begin = sync.OnceFunc(func() { close(b.begun) })
	cfg.Client.standing.watch(func(refused bool) {
		b.ready.bar(refused)
		b.socket.ready.bar(refused)
	})
	return b, nil
}

func checkMode(cfg Config) error {
	switch cfg.Mode {
	case ModeSocket:
		if cfg.AppToken == "" {
			return errors.New("bot: SLACK_APP_TOKEN is not set; Socket Mode needs it")
		}
		if !strings.HasPrefix(cfg.AppToken, "xapp-") {
			return errors.New("bot: SLACK_APP_TOKEN must be an app-level token, which starts with xapp-")
		}
	case ModeHTTP:
		if cfg.SigningSecret == "" {
			return errors.New("bot: SLACK_SIGNING_SECRET is not set; HTTP mode needs it")
		}
	default:
		return fmt.Errorf("bot: mode %q: want %q or %q", cfg.Mode, ModeSocket, ModeHTTP)
	}
	return nil
}

// Ready returns a channel that is closed once the bot can hear Slack, which may be now: in Socket Mode a connection has
// said hello and is open, in HTTP mode Run is at work; and Slack takes the bot token. Each time it ceases to hear,
// later calls return another channel.
func (b *Bot) Ready() <-chan struct{} {
	if b.mode == ModeHTTP {
		return b.ready.channel()
	}
	return b.socket.ready.channel()
}

// Check asks Slack within five seconds whether the tokens are good: auth.test for the bot token and, in Socket Mode,
// one apps.connections.open for the app token. A refused token is a *TokenError that names the variable to mend, a
// lack of scopes a *ScopeError; everything else means that Slack could not be asked.
func (b *Bot) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	id, err := b.client.identify(ctx)
	if _, refused := errors.AsType[*TokenError](err); b.mode == ModeSocket && (refused || err == nil) {
		_, other := b.client.openSocket(ctx, b.app)
		err = errors.Join(err, other)
	}
	if err != nil {
		return fmt.Errorf("check Slack: %w", err)
	}
	if err := missingScopes(id.scopes); err != nil {
		return fmt.Errorf("check Slack: %w", err)
	}
	return nil
}

// end stops Run with the reason; later reasons are dropped.
func (b *Bot) end(reason error) {
	select {
	case b.ended <- reason:
	default:
	}
}
