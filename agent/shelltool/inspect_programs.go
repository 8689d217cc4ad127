package shelltool

import (
	"regexp"
	"slices"
	"strings"
)

var (
	shells = strings.Fields("sh bash dash ash ksh mksh rbash")
	// foreign shells have a syntax of their own.
	foreign = strings.Fields("zsh fish csh tcsh nu pwsh")
	// interpreters run code that is in their words, in a file, in the project they are used on, or on their standard
	// input.
	interpreters = strings.Fields(`python pypy perl ruby node nodejs deno bun php lua luajit tclsh expect awk gawk
		mawk nawk osascript Rscript java go make gmake psql mysql sqlite3 gdb vim vi nvim emacs ed ex m4 dc bpftrace
		cmake ctest ninja meson scons rake bundle npm npx yarn pnpm pip pipx uv uvx tox cargo mvn gradle ant sbt just
		ansible-playbook`)
	// wrappers run a command that their words name; plainWrappers have it right after their name, unless there are
	// options.
	wrappers = strings.Fields(`su runuser xargs ionice timeout stdbuf watch chroot unshare nsenter busybox toybox
		parallel ssh docker podman kubectl flock script strace ltrace entr at batch crontab systemd-run taskset chrt
		unbuffer rlwrap start-stop-daemon pkexec sg setpriv prlimit capsh run-parts bwrap firejail proot fakeroot
		dbus-run-session xvfb-run ssh-agent socat tmux screen coproc`)
	plainWrappers = strings.Fields("env sudo doas nohup nice setsid time command builtin exec")
	// declarations set variables by their words.
	declarations = strings.Fields("export declare typeset local readonly nameref env sudo doas")
	// callers are builtins that run a command with one of their options.
	callers = strings.Fields("mapfile readarray bind complete compgen enable jobs fc")
)

// nameArguments are builtins whose words are names of variables, which bash reads as expressions: a[$(id)] runs id,
// also in quotes. Those that are listed for a builtin are its options that are followed by a name; none: every word is
// one.
var nameArguments = map[string]string{
	"let": "", "read": "", "readarray": "", "mapfile": "", "unset": "", "declare": "", "typeset": "", "local": "",
	"export": "", "readonly": "", "getopts": "", "nameref": "", "printf": "-v", "test": "-v -R", "[": "-v -R",
	"wait": "-p",
}

// codeOptions are options of builtins and programs that are followed by a command. Those of one letter may stand among
// others, or have the command right behind them; those with two hyphens may be shortened, or have it behind a =.
var codeOptions = map[string]string{
	"mapfile": "-C", "readarray": "-C", "bind": "-x", "complete": "-C -F", "compgen": "-C -F", "enable": "-f",
	"jobs":    "-x",
	"fc":      "-s -e",
	"find":    "-exec -execdir -ok -okdir",
	"rsync":   "-e --rsh --rsync-path",
	"scp":     "-S -o",
	"sftp":    "-S -o",
	"zip":     "-TT --unzip-command",
	"tcpdump": "-z",
	"ncat":    "--exec --sh-exec --lua-exec",
	"man":     "-P -H --pager --html",
	"sort":    "--compress-program",
	"split":   "--filter",
	"cpio":    "--rsh-command",
	"install": "--strip-program",
	"less":    "--lesskey",
	"git":     "--exec --exec-path --upload-pack --receive-pack --open-files-in-pager --config-env",
	"tar": "-I -F --to-command --checkpoint-action --use-compress-program --info-script --new-volume-script " +
		"--rsh-command --rmt-command",
}

// codeWords are words of programs after which a command comes, as they stand there and in no other form.
var codeWords = map[string][]string{
	"git": {"-c", "bisect", "filter-branch", "foreach", "difftool", "mergetool"},
	"nc":  {"-e", "-c"}, "ncat": {"-e", "-c"},
}

// evaluates knows builtins that run text as commands only with certain words.
func evaluates(name string, words []Word) bool {
	before, ok := nameArguments[name]
	options := strings.Fields(before)
	for i, w := range words {
		previous := ""
		if i > 0 {
			previous = words[i-1].Text
		}
		isName := ok && (len(options) == 0 || slices.Contains(options, previous))
		if name == "read" && slices.Contains([]string{"-p", "-d", "-t", "-n", "-N", "-u", "-i"}, previous) {
			isName = false
		}
		if isName && !plainNames(w) || slices.Contains(callers, name) && hasOption(name, w.Text) {
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
	rebases := name == "git" && slices.ContainsFunc(words, func(w Word) bool { return w.Text == "rebase" })
	for i, w := range words {
		bundled := i == 0 && !strings.HasPrefix(w.Text, "-") // tar takes options without a hyphen there
		switch {
		case hasOption(name, w.Text) || slices.Contains(codeWords[name], w.Text) || rebases && w.Text == "-x":
			return true
		case name == "tar" && bundled && strings.ContainsAny(w.Text, "IF"):
			return true
		case name == "sed" && sedRuns.MatchString(strings.Trim(strings.TrimPrefix(w.Text, "-e"), `"'`)):
			return true
		}
	}
	return false
}

// sedRuns finds the command e of GNU sed, and the flag e of its command s, and rather too much than too little.
var sedRuns = regexp.MustCompile(`(?s)(^|[;{}!,$/\n0-9])\s*e(\s|$|;|\})|` +
	`(^|[^a-zA-Z])s([^\sa-zA-Z0-9]).*[^\sa-zA-Z0-9][gpmMI0-9]*e[gpmMI0-9e]*(\s*$|[\s;}])`)

// hasOption reports whether a word is, or holds, one of the program's codeOptions.
func hasOption(name, word string) bool {
	long, _, _ := strings.Cut(word, "=")
	for _, o := range strings.Fields(codeOptions[name]) {
		switch {
		case word == o:
			return true
		case strings.HasPrefix(long, "--"):
			if len(long) > 3 && strings.HasPrefix(o, long) {
				return true
			}
		case len(o) == 2 && strings.HasPrefix(word, "-") && strings.Contains(word, o[1:]):
			return true
		}
	}
	return false
}
