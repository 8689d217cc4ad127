package celpolicy

import "testing"

func TestExpressionInWords(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		`args.amount > 100`:                   `amount > 100`,
		`tool == "pay" && args.amount > 1000`: `amount > 1000`,
		`tool == "pay"`:                       ``,
		`true`:                                ``,
		`args.a && (args.b || args.c)`:        `a and (b or c)`,
		`tool == "pay" || tool == "wire"`:     `tool == "pay" or tool == "wire"`,
		`tool == "pay" && args.a == 1 && args.b == "x  && y"`: `a == 1 and b == "x  && y"`,
		`requester.id != "U1" && vars.environment == "p"`: `requester.id != "U1"` +
			` and vars.environment == "p"`,
		`!has(args.memo) || args.list.exists(x, x == args.to)`:       `!has(memo) or list.exists(x, x == to)`,
		`args["odd name"] == 1`:                                      `args["odd name"] == 1`,
		`(tool == "pay" && args.amount > 5) || args.to == "nowhere"`: `amount > 5 or to == "nowhere"`,

		// Arguments that are called as something else is.
		`tool == "pay" && args.tool == "hammer"`:         `args.tool == "hammer"`,
		`args.agent == "Smith" || args.amount > 5`:       `args.agent == "Smith" or amount > 5`,
		`args.vars.environment == "p"`:                   `args.vars.environment == "p"`,
		`args.list.exists(amount, amount > args.amount)`: `list.exists(amount, amount > args.amount)`,
	} {
		env, err := newEnvironment(nil, Vars{"environment": "prod"})
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := env.parse(source)
		if err != nil {
			t.Fatal(err)
		}
		if got := env.wordsOf(parsed); got != want {
			t.Errorf("%s\n is %s\nwant %s", source, got, want)
		}
	}
}
