//go:build unix

package patchtool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"countersign/agent"
	"countersign/agent/patchtool"
)

func ExampleNew() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "limits.txt"), []byte("daily 100\nweekly 500\n"), 0o644); err != nil {
		log.Fatal(err)
	}
	tool, err := patchtool.New(patchtool.Config{Root: dir, WrittenRoot: "${REPO}", Allow: []string{"*.txt"}})
	if err != nil {
		log.Fatal(err)
	}
	arguments, err := json.Marshal(map[string]string{"patch": `*** Begin Patch
*** Update File: limits.txt
@@
-daily 100
+daily 250
 weekly 500
*** End Patch`})
	if err != nil {
		log.Fatal(err)
	}
	call := &agent.ToolCall{Arguments: arguments}

	// This is what people decide about, and what must still be so when it runs.
	facts, err := tool.Preconditions(context.Background(), call)
	fmt.Println(len(facts), facts[0][:24], err)
	out, err := tool.Invoke(context.Background(), call)
	fmt.Println(out.Text, err)
	// Output:
	// 1 limits.txt sha256:1cbfda <nil>
	// The patch is applied.
	// updated limits.txt (+1 -1) <nil>
}
