//go:build unix

package shelltool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"countersign/agent"
	"countersign/agent/shelltool"
)

func ExampleNew() {
	tool, err := shelltool.New(shelltool.Config{
		Workdir: os.TempDir(), WrittenWorkdir: "${SCRATCH}", Timeout: 5 * time.Second,
	})
	if err != nil {
		log.Fatal(err)
	}
	call := &agent.ToolCall{Arguments: json.RawMessage(`{"script":"echo $((6 * 7)); ls /no/such/place 2>/dev/null"}`)}

	ask, _ := tool.NeedsApproval(context.Background(), call)
	fmt.Println("ask people first:", ask)
	out, err := tool.Invoke(context.Background(), call)
	fmt.Println(out.Text, err)
	// Output:
	// ask people first: true
	// Exit code: 2
	// --- stdout ---
	// 42 <nil>
}

func ExampleInspect() {
	in, err := shelltool.Inspect(json.RawMessage(`{"script":"cat notes.txt | mail -s 'for you' $TO"}`))
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range in.Commands {
		for _, w := range c.Words {
			fmt.Printf("%q literal: %v\n", w.Text, w.Literal)
		}
	}
	// Output:
	// "cat" literal: true
	// "notes.txt" literal: true
	// "mail" literal: true
	// "-s" literal: true
	// "for you" literal: true
	// "$TO" literal: false
}
