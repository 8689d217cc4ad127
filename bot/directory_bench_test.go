package bot

import (
	"encoding/json"
	"testing"
)

// A user object as Slack sends it: https://docs.slack.dev/reference/methods/users.info.
const fullUser = `{"ok":true,"user":{"id":"W012A3CDE","team_id":"T012AB3C4","name":"spengler","deleted":false,` +
	`"color":"9f69e7","real_name":"Egon Spengler","tz":"America/Los_Angeles","tz_label":"Pacific Daylight Time",` +
	`"tz_offset":-25200,"profile":{"avatar_hash":"ge3b51ca72de","status_text":"Print is dead",` +
	`"status_emoji":":books:",` +
	`"real_name":"Egon Spengler","display_name":"spengler","real_name_normalized":"Egon Spengler",` +
	`"display_name_normalized":"spengler","email":"spengler@example.com",` +
	`"image_original":"https://example.com/avatar/e3b51ca72dee4ef87916ae2b9240df50.jpg",` +
	`"image_24":"https://example.com/avatar/24.jpg","image_32":"https://example.com/avatar/32.jpg",` +
	`"image_48":"https://example.com/avatar/48.jpg","image_72":"https://example.com/avatar/72.jpg",` +
	`"image_192":"https://example.com/avatar/192.jpg","image_512":"https://example.com/avatar/512.jpg",` +
	`"team":"T012AB3C4","fields":{}},"is_admin":true,"is_owner":false,"is_primary_owner":false,` +
	`"is_restricted":false,"is_ultra_restricted":false,"is_bot":false,"updated":1502138686,"is_app_user":false,` +
	`"has_2fa":false}}`

// BenchmarkUserObject is the reading of who somebody is, which every click asks Slack for.
func BenchmarkUserObject(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var answer struct {
			User userObject `json:"user"`
		}
		if err := json.Unmarshal([]byte(fullUser), &answer); err != nil || answer.User.Profile.RealName == "" {
			b.Fatal(err)
		}
	}
}
