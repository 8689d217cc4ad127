package app_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	device "github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"countersign/internal/slackdev"
)

var screenshots = flag.String("screenshots", "", "write pictures of every card in every state into this folder, and "+
	"renew those in docs/")

var pictured = flag.String("pictured", "", "a regular expression: make pictures of the goldens that have such names")

// TestScreenshots makes pictures to look at, when it is asked to: of every card, form and list that package bot keeps
// as golden JSON, and of the demo, at the width of a desk and of a phone.
func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("makes no pictures without -screenshots FOLDER")
	}
	if err := os.MkdirAll(*screenshots, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string][2]int{"desk": {desk, 800}, "phone": {phone, 844}} {
		t.Run(name, func(t *testing.T) {
			t.Run("demo", func(t *testing.T) { picturesOfDemo(t, name, size) })
			// So high that no card has to be scrolled:
			t.Run("cards", func(t *testing.T) { picturesOfCards(t, name, [2]int{size[0], 3000}) })
		})
	}
}

// golden is one of the files in bot/testdata.
type golden struct {
	name   string
	Text   string          `json:"text"`
	Type   string          `json:"type"` // of a view, which has the three words below
	Title  string          `json:"title"`
	Submit string          `json:"submit"`
	Close  string          `json:"close"`
	Blocks json.RawMessage `json:"blocks"`
}

// view is the modal, as the bot opens it.
func (g golden) view() map[string]any {
	v := map[string]any{
		"type": g.Type, "blocks": g.Blocks, "title": plainText(g.Title), "close": plainText(g.Close),
	}
	if g.Submit != "" {
		v["submit"] = plainText(g.Submit)
	}
	return v
}

func goldens(t *testing.T) (all []golden) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "bot", "testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no golden files", err)
	}
	only, err := regexp.Compile(*pictured)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		g := golden{name: strings.TrimSuffix(filepath.Base(file), ".json")}
		if err = errors.Join(err, json.Unmarshal(data, &g)); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(g.Blocks) > 0 && only.MatchString(g.name) {
			all = append(all, g)
		}
	}
	return all
}

// picturesOfCards posts each golden message into a thread, opens each form as a modal and publishes each list as a Home
// tab.
func picturesOfCards(t *testing.T, name string, size [2]int) {
	w, err := slackdev.Start(slackdev.Config{Channels: []slackdev.Channel{{
		ID: general, Name: "payments", BotMember: true, Members: []string{ann, ben, cleo, gus},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	thread, err := w.Post(t.Context(), ann, general, "<@"+w.Config().App.BotUserID+"> pay invoice 17", "")
	if err != nil {
		t.Fatal(err)
	}
	b := newTab(t, w.URL()+"?user="+ben, size[0], size[1])
	save := func(g golden, selector string) {
		var file []byte
		if file, err = chromedp.Run(b.ctx, chromedp.Screenshot(selector)); err != nil {
			t.Errorf("%s: %v", g.name, err)
			return
		}
		b.fits(g.name)
		write(t, filepath.Join(*screenshots, g.name+"-"+name+".png"), file)
	}
	b.until(`document.querySelector('[data-reply]')`)
	b.do("open the thread", chromedp.Click(`[data-reply]`), pointerAway)
	for _, g := range goldens(t) {
		kind, _, _ := strings.Cut(g.name, "_")
		switch {
		case g.Type == "modal":
			ask(t, w, "views.open", map[string]any{"trigger_id": w.NewTrigger(ben), "view": g.view()})
			b.until(`document.querySelector('dialog')`)
			eval[bool](b, `(document.querySelector('dialog').style.maxHeight = 'none') !== ''`) // nothing scrolled away
			save(g, `dialog`)
			b.keys("\u001b")
			b.until(`!document.querySelector('dialog')`)
		case kind == "list", kind == "home":
			ask(t, w, "views.publish", map[string]any{"user_id": ben, "view": map[string]any{"type": "home",
				"blocks": g.Blocks}})
			b.showHome(w.DM(ben))
			save(g, `[data-home] [data-view]`)
			b.backToThread(thread)
			b.do("leave", pointerAway)
		default:
			ts := ask(t, w, "chat.postMessage", map[string]any{"channel": general, "thread_ts": thread, "text": g.Text,
				"blocks": g.Blocks})
			b.until(`document.querySelector('#thread [data-ts="` + ts + `"]')`)
			save(g, `#thread [data-ts="`+ts+`"]`)
		}
	}
}

// pointerAway takes the mouse to where it changes nothing.
var pointerAway = chromedp.MouseEvent(device.DispatchMouseEventTypeMouseMoved, 2, 2)

func plainText(s string) map[string]any { return map[string]any{"type": "plain_text", "text": s} }

// ask calls the workspace as the bot does, and returns the time stamp in its answer.
func ask(t *testing.T, w *slackdev.Workspace, method string, args map[string]any) string {
	t.Helper()
	body, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.APIURL()+method, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.Config().BotToken)
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		OK        bool
		Error, TS string
	}
	text := readAll(t, resp.Body)
	if err := json.Unmarshal([]byte(text), &answer); err != nil || !answer.OK {
		t.Errorf("%s: %s", method, text)
	}
	return answer.TS
}

func (b *tab) showHome(dm string) {
	b.t.Helper()
	if b.width == phone {
		b.click(`#thread [data-back-pane]`)
		b.click(`#main [data-back-pane]`)
	}
	b.click(`#sidebar [data-channel=` + dm + `]`)
	b.click(`[data-tab=home]`)
	b.until(`document.querySelector('[data-home] [data-view]')`)
}

func (b *tab) backToThread(thread string) {
	b.t.Helper()
	if b.width == phone {
		b.click(`#main [data-back-pane]`)
	}
	b.click(`#sidebar [data-channel=` + general + `]`)
	b.click(`#main [data-reply="` + thread + `"]`)
	b.until(`document.querySelector('#thread article')`)
}

// picturesOfDemo are those of the README and the pages.
func picturesOfDemo(t *testing.T, name string, size [2]int) {
	_, url, _ := startDemo(t)
	b := newTab(t, url, size[0], size[1])
	b.click(`[data-use-hint]`)
	b.click(`#main [data-send]`)
	b.until(`document.querySelector('#thread [data-action-id=approve]')`)
	b.become(ben)
	b.until(`!document.querySelector('[aria-busy=true]')`)
	shoot := func(file string) {
		picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join("..", "..", "docs", file+".png"), picture)
	}
	shoot(map[string]string{"desk": "demo", "phone": "phone"}[name])
	b.press(`#thread`, "approve")
	b.shows(`#thread`, "Approved", "transferred 250 to Acme")
	file, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(*screenshots, "demo_answered-"+name+".png"), file)
}

// write writes a picture with at most 256 colours: a page has few more, and the file is a third as large.
func write(t *testing.T, file string, data []byte) {
	t.Helper()
	picture, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	small := image.NewPaletted(picture.Bounds(), commonest(picture))
	draw.Draw(small, small.Rect, picture, picture.Bounds().Min, draw.Src)
	var out bytes.Buffer
	best := png.Encoder{CompressionLevel: png.BestCompression}
	if err := best.Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commonest are the 160 colours that a picture has most of, and 96 that stand for groups of the others.
func commonest(picture image.Image) color.Palette {
	counts, groups := map[color.RGBA]int{}, map[color.RGBA]int{}
	bounds := picture.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	exact := most(counts, 160)
	for c, n := range counts {
		if !slices.Contains(exact, c) {
			groups[color.RGBA{c.R&^31 + 16, c.G&^31 + 16, c.B&^31 + 16, 255}] += n
		}
	}
	palette := color.Palette{}
	for _, c := range append(exact, most(groups, 96)...) {
		palette = append(palette, c)
	}
	return palette
}

// most are the n colours that were counted most often.
func most(counts map[color.RGBA]int, n int) []color.RGBA {
	all := slices.Collect(maps.Keys(counts))
	slices.SortFunc(all, func(a, b color.RGBA) int {
		return cmp.Or(counts[b]-counts[a], cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	return all[:min(n, len(all))]
}
