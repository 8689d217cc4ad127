package slackdev_test

import (
	"context"
	"fmt"
	"log"

	"github.com/slack-go/slack"

	"countersign/internal/slackdev"
)

// A test acts as a person, lets the bot use its ordinary Slack client, and reads
// back what is to be seen.
func Example() {
	w, err := slackdev.Start(slackdev.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	ctx := context.Background()
	ts, err := w.Post(ctx, "U0ANN", "C0GENERAL", "<@U0BOT> hello", "")
	if err != nil {
		log.Fatal(err)
	}
	api := slack.New(w.Config().BotToken, slack.OptionAPIURL(w.APIURL()))
	answer := slack.MsgOptionText("hello yourself", false)
	if _, _, err := api.PostMessageContext(ctx, "C0GENERAL", slack.MsgOptionTS(ts), answer); err != nil {
		log.Fatal(err)
	}
	for _, m := range w.Thread("C0GENERAL", ts) {
		fmt.Println(m.User, m.Shown())
	}
	// Output:
	// U0ANN <@U0BOT> hello
	// U0BOT hello yourself
}
