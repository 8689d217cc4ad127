package shelltool

import (
	"regexp"
	"slices"
	"strings"
)

var (
	shells = []string{"sh", "bash", "dash", "ash", "ksh", "mksh", "rbash"}
	// foreign shells have a syntax of their own.
	foreign = []string{"zsh", "fish", "csh", "tcsh", "nu", "pwsh"}
	// interpreters run code that is in their words, in a file, in the project they are used on, or on their standard input.
	interpreters = []string{"python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "expect",
		"awk", "gawk", "mawk", "nawk", "osascript", "Rscript", "java", "go", "make", "gmake", "psql", "mysql", "sqlite3", "gdb", "vim", "vi",
		"nvim", "emacs", "ed", "ex", "m4", "dc", "bpftrace", "cmake", "ctest", "ninja", "meson", "scons", "rake", "bundle", "npm", "npx", "yarn",
		"pnpm", "pip", "pipx", "uv", "uvx", "tox", "cargo", "mvn", "gradle", "ant", "sbt", "just", "ansible-playbook"}
	// wrappers run a command that their words name; plainWrappers have it right after their name, unless there are options.
	wrappers = []string{"su", "runuser", "xargs", "ionice", "timeout", "stdbuf", "watch", "chroot", "unshare", "nsenter", "busybox", "toybox",
		"parallel", "ssh", "docker", "podman", "kubectl", "flock", "script", "strace", "ltrace", "entr", "at", "batch", "crontab",
		"systemd-run", "taskset", "chrt", "unbuffer", "rlwrap", "start-stop-daemon", "pkexec", "sg", "setpriv", "prlimit", "capsh", "run-parts",
		"bwrap", "firejail", "proot", "fakeroot", "dbus-run-session", "xvfb-run", "ssh-agent", "socat", "tmux", "screen", "coproc"}
	plainWrappers = []string{"env", "sudo", "doas", "nohup", "nice", "setsid", "time", "command", "builtin", "exec"}
	// declarations set variables by their words.
	declarations = []string{"export", "declare", "typeset", "local", "readonly", "nameref", "env", "sudo", "doas"}
)

// nameArguments are builtins whose words are names of variables, which bash reads as expressions: a[$(id)] runs id, also in quotes.
// Those before a name are the options that are followed by one; none means that every word is one.
var nameArguments = map[string]string{
	"let": "", "read": "", "readarray": "", "mapfile": "", "unset": "", "declare": "", "typeset": "", "local": "", "export": "", "readonly": "",
	"getopts": "", "nameref": "", "printf": "-v", "test": "-v -R", "[": "-v -R", "wait": "-p",
}

// codeOption are options of builtins and programs that are followed by a command, as they are written by themselves.
var codeOption = map[string][]string{
	"mapfile": {"-C"}, "readarray": {"-C"}, "bind": {"-x"}, "complete": {"-C", "-F"}, "compgen": {"-C", "-F"}, "enable": {"-f"}, "jobs": {"-x"},
	"fc": {"-s", "-e"}, "find": {"-exec", "-execdir", "-ok", "-okdir"}, "git": {"-c", "bisect", "filter-branch", "foreach", "difftool", "mergetool"},
	"rsync": {"-e"}, "scp": {"-S", "-o"}, "sftp": {"-S", "-o"}, "zip": {"-TT"}, "tcpdump": {"-z"}, "nc": {"-e", "-c"}, "ncat": {"-e", "-c"},
	"man": {"-P", "-H"}, "tar": {"-I", "-F"},
}

// codeOptionLong are the same in long form, which may be shortened and may hold the command behind a =.
var codeOptionLong = map[string][]string{
	"git": {"--exec", "--exec-path", "--upload-pack", "--receive-pack", "--open-files-in-pager", "--config-env"}, "rsync": {"--rsh", "--rsync-path"},
	"tar":  {"--to-command", "--checkpoint-action", "--use-compress-program", "--info-script", "--new-volume-script", "--rsh-command", "--rmt-command"},
	"sort": {"--compress-program"}, "split": {"--filter"}, "cpio": {"--rsh-command"}, "install": {"--strip-program"}, "man": {"--pager", "--html"},
	"zip": {"--unzip-command"}, "ncat": {"--exec", "--sh-exec", "--lua-exec"}, "less": {"--lesskey"},
}

// evaluates knows builtins that run text as commands only with certain words.
func evaluates(name string, words []Word) bool {
	before, ok := nameArguments[name]
	options := strings.Fields(before)
	for i, w := range words {
		switch {
		case i > 0 && name == "read" && slices.Contains([]string{"-p", "-d", "-t", "-n", "-N", "-u", "-i"}, words[i-1].Text): // no name
		case ok && (len(options) == 0 || i > 0 && slices.Contains(options, words[i-1].Text)) && !plainNames(w):
			return true
		case slices.Contains([]string{"mapfile", "readarray", "bind", "complete", "compgen", "enable", "jobs", "fc"}, name) && hasOption(name, w.Text):
			return true
		}
	}
	return false
}

// plainNames reports whether a word that may be the name of a variable holds nothing that could be run.
func plainNames(w Word) bool {
	name, _, assigned := strings.Cut(w.Text, "=")
	switch {
	case strings.Contains(name, "[") && strings.ContainsAny(name, "$`"):
		return false
	case w.Literal || assigned:
		return true
	}
	return strings.HasPrefix(w.Text, "-") // an option that is written with a variable is no name
}

// runsOthers knows programs that run commands only with certain words.
func runsOthers(name string, words []Word) bool {
	for i, w := range words {
		switch {
		case hasOption(name, w.Text):
			return true
		case name == "tar" && i == 0 && !strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "IF"): // options without a hyphen
			return true
		case name == "git" && w.Text == "-x" && slices.ContainsFunc(words, func(w Word) bool { return w.Text == "rebase" }):
			return true
		case name == "sed" && sedRuns.MatchString(strings.Trim(strings.TrimPrefix(w.Text, "-e"), `"'`)):
			return true
		}
	}
	return false
}

// sedRuns finds the command e of GNU sed, and the flag e of its command s, and rather too much than too little.
var sedRuns = regexp.MustCompile(`(?s)(^|[;{}!,$/\n0-9])\s*e(\s|$|;|\})|(^|[^a-zA-Z])s([^\sa-zA-Z0-9]).*[^\sa-zA-Z0-9][gpmMI0-9]*e[gpmMI0-9e]*(\s*$|[\s;}])`)

// hasOption reports whether a word is, or holds, one of the options of a program that are followed by a command.
func hasOption(name, word string) bool {
	if long, _, _ := strings.Cut(word, "="); strings.HasPrefix(long, "--") && len(long) > 3 {
		return slices.ContainsFunc(codeOptionLong[name], func(o string) bool { return strings.HasPrefix(o, long) })
	}
	for _, o := range codeOption[name] {
		switch {
		case word == o:
			return true
		case len(o) == 2 && name != "git" && name != "nc" && name != "ncat" && strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, o[1:]):
			return true // among other letters, or with the command right behind it
		}
	}
	return false
}
