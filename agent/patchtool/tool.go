package patchtool

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"countersign/agent"
	"countersign/agent/toolstatus"
)

const description = `Change text files with a patch. People are asked before it is applied; ` +
	`all of it is applied, or nothing. Format:
*** Begin Patch
*** Update File: path/of/file
@@ a whole line of the file above the change, to find the place (optional)
 a line of context, after a space
-a line that goes
+a line that comes
*** Add File: path/of/new/file
+each line of it after a plus
*** Delete File: path/of/old/file
*** End Patch
After an Update header, "*** Move to: new/path" renames the file. Give three lines of context around a change; ` +
	`context must be in the file exactly, and only in one place. Paths are relative to the tool's directory.`

// tool applies the patches of one declaration.
type tool struct {
	*declared
	enter func(root *os.Root, dir string) (directory, error)
}

// New returns the tool that cfg declares. Every call asks for approval, unless the caller sets another NeedsApproval on
// what is returned. Its error wraps [agent.ErrConfig] and names the field.
func New(cfg Config) (agent.Tool, error) {
	d, err := cfg.check()
	if err != nil {
		return agent.Tool{}, err
	}
	return (&tool{d, enter}).tool(), nil
}

func (t *tool) tool() agent.Tool {
	made := agent.Tool{
		Name: t.Name, Description: cmp.Or(t.Description, description), Version: t.Version, Kind: agent.KindApplyPatch,
		Parameters: json.RawMessage(parameters), Validate: t.validate, Attributes: t.binding(), Preconditions: t.bind,
		Touches: t.touches, NeedsApproval: agent.AlwaysAsk, Invoke: t.invoke,
	}
	if t.Native {
		made.Wire, made.Parameters = agent.WireApplyPatch, json.RawMessage(nativeParameters)
	}
	return made
}

func (t *tool) validate(raw json.RawMessage) error {
	_, err := t.sections(raw)
	return err
}

// sections reads a call and holds it against the declaration.
func (t *tool) sections(raw json.RawMessage) ([]section, error) {
	sections, size, native, err := read(raw)
	switch {
	case err != nil:
		return nil, err
	case native && !t.Native:
		return nil, errors.New("patch is missing")
	case !native && t.Native:
		return nil, errors.New("type and path are missing")
	case size > t.MaxPatch:
		return nil, fmt.Errorf(
			"the patch has %d bytes, and at most %d are applied at once; send it in parts", size, t.MaxPatch)
	}
	return sections, nil
}

// bind says what the files are that a patch touches. It works the patch out, so that one that does not apply is told to
// the model before people are asked.
func (t *tool) bind(ctx context.Context, call *agent.ToolCall) ([]string, error) {
	sections, err := t.sections(call.Arguments)
	if err != nil {
		return nil, err
	}
	root, err := t.open()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	edits, err := t.plan(ctx, root, sections)
	if err != nil {
		return nil, fmt.Errorf("the patch does not apply: %w", err)
	}
	return facts(edits), nil
}

// touches: what a patch changes is below the root, and its lock is the whole root's.
func (t *tool) touches(*agent.ToolCall) []string { return []string{t.Root} }

// invoke applies a patch. A patch that does not apply is an output. The error is the context's, and nothing has changed
// then, or it wraps agent.ErrOutcomeUnknown.
func (t *tool) invoke(ctx context.Context, call *agent.ToolCall) (agent.ToolOutput, error) {
	sections, err := t.sections(call.Arguments)
	if err != nil {
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, err)
	}
	left, kept, err := t.apply(ctx, sections, call.Preconditions)
	switch {
	case errors.Is(err, agent.ErrOutcomeUnknown):
		return agent.ToolOutput{}, fmt.Errorf("call %s: %w", t.Name, err)
	case err != nil && ctx.Err() != nil:
		return agent.ToolOutput{}, fmt.Errorf("call %s: nothing was changed: %w", t.Name, context.Cause(ctx))
	case err != nil:
		return agent.ToolOutput{
			Text: "Nothing was changed: " + err.Error() + "." + remains(left, kept), Failed: true,
		}, nil
	}
	var b strings.Builder
	b.WriteString("The patch is applied.")
	changes := explain(sections)
	for _, c := range changes {
		b.WriteString("\n" + c.String())
	}
	b.WriteString(remains(left, kept))
	return agent.ToolOutput{Text: b.String(), Status: toolstatus.Status{Files: len(changes)}}, nil
}

// remains says which files of patches are there still: of this one, and of others that were cut short.
func remains(left, kept []string) (text string) {
	if len(left) > 0 {
		text = "\nThese could not be removed and mean nothing any more: " + strings.Join(left, ", ")
	}
	if len(kept) > 0 {
		text += "\nA patch that was cut short left these, which alone hold what was there before it: " +
			strings.Join(kept, ", ")
	}
	return text
}

// apply carries the sections out on the files as somebody saw them, if anybody did.
func (t *tool) apply(ctx context.Context, sections []section, seen []string) (left, kept []string, err error) {
	root, err := t.open()
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	unlock, err := lock(ctx, root)
	if err != nil {
		return nil, nil, err
	}
	defer unlock()
	edits, err := t.plan(ctx, root, sections)
	if err != nil {
		return nil, nil, err
	}
	if err := unchanged(edits, seen); err != nil {
		return nil, nil, err
	}
	kept = sweep(root, edits, time.Now().Add(-leftoverAge))
	c := commit{root: root, enter: t.enter}
	left, err = c.run(ctx, edits)
	return left, kept, err
}
