package agent

// WireForm says how the calls and outputs of a tool look on the wire of the Responses API. Whatever the form, a call's
// arguments are a JSON object in canonical form for gates, people and digests.
type WireForm string

// The wire forms.
const (
	// WireFunction is function_call and function_call_output: arguments are the JSON object that the model wrote.
	WireFunction WireForm = ""
	// WireCustom is custom_tool_call and custom_tool_call_output: the model writes plain text, and the arguments are
	// {"input": TEXT}.
	WireCustom WireForm = "custom"
	// WireShell is shell_call and shell_call_output of the provider's own shell tool: the arguments are its action,
	// {"commands": […], "timeout_ms": N, "max_output_length": N}.
	WireShell WireForm = "shell"
	// WireApplyPatch is apply_patch_call and apply_patch_call_output of the provider's own patch tool: the arguments are
	// its operation, {"type": "create_file"|"update_file"|"delete_file", "path": P, "diff": D}.
	WireApplyPatch WireForm = "apply_patch"
	// WireHosted is a tool that the provider executes, described by Tool.Hosted.
	WireHosted WireForm = "hosted"
)
