package bot

// What the page says that a person sees after Slack's, in a browser: that the app is installed and what to do next, or
// why it is not.

const (
	wordsBeginAgain = "Begin again" // the link

	wordsInstallDone   = "You can close this page. What to do next, in Slack:"
	wordsInstallFailed = "The app was not installed"
)

func wordsInstalledIn(workspace string) string { return "The app is installed in " + workspace }

// wordsInstallSteps are what to do next.
var wordsInstallSteps = []string{
	"Invite the app to a channel: write /invite there, followed by a space and @ and its name.",
	"Mention it in that channel and say what it is to do.",
	"Before a tool call that matters it asks there, and people of the channel decide with a click.",
}

func wordsScopesMissing(scopes string) string {
	return "Slack did not give all that was asked for. Without these scopes parts of it do not work: " + scopes + "."
}

// A browser that is not taken back.
const (
	wordsInstallTooLate = "This took longer than ten minutes."
	wordsInstallUsed    = "This page was opened before. If it said then that the app is installed, all is well."
	wordsInstallMany    = "Too many people install the app at this moment. Wait for some minutes."
	wordsInstallForeign = "This installation was not begun in this browser, or not since the bot was started. " +
		"If somebody sent you this link, do not follow it."
)

// What Slack says.

const (
	wordsInstallCancelled = "You pressed Cancel on Slack's page, or may not install apps in this workspace. " +
		"Nothing was changed."
	wordsTokensExpire = "The app's tokens would expire: token rotation is switched on in its settings at Slack, " +
		"and cannot be switched off again. The operator of the bot needs an app without it."
	wordsSlackSaysTooLittle = "Slack did not say all that the bot needs to know. The operator of the bot finds more " +
		"in its log."
	wordsCodeUnknown = "Slack does not know this code, or not any more: it can be used once, for ten minutes."
	wordsSlackSilent = "Slack does not answer at this moment. Nothing is lost; begin again in a while."
)

func wordsSlackStopped(word string) string {
	return "Slack did not go on, and says: " + word + ". Nothing was changed."
}

func wordsAppDisagrees(word string) string {
	return "The bot and Slack do not agree about the app (" + word + "). Its operator has to compare " +
		"SLACK_CLIENT_ID, SLACK_CLIENT_SECRET and the redirect URL with the app's settings at Slack."
}

func wordsSlackRefuses(word string) string {
	return "Slack refuses the installation, and says: " + word + "."
}

// What the bot says.

func wordsNotServed(workspace string) []string {
	return []string{
		"The operator of this bot has not named your workspace (" + workspace + ") as one that it " +
			"works for. Nothing was stored, and the bot does nothing there. Ask the operator, then begin again.",
		"Slack lists the app among those of your workspace: remove it there if you do not want it.",
	}
}

const wordsNotStored = "The bot could not store the installation. Begin again in a while; the operator of the bot " +
	"finds more in its log."
