// Bolt's intake in HTTP mode: signed block_actions, acknowledged and nothing else. Prints "ready PORT RSS_MB START_MS".
// usage: node click.mjs SIGNING_SECRET API_URL
import bolt from '@slack/bolt';

const [signingSecret, slackApiUrl] = process.argv.slice(2);
const started = performance.now();
const app = new bolt.App({ signingSecret, clientOptions: { slackApiUrl },
  authorize: async () => ({ botToken: 'xoxb-bench', botId: 'B1', botUserId: 'U0' }) });
app.action(/.*/, async ({ ack }) => { await ack(); });
const server = await app.start(0);
console.log(`ready ${server.address().port} ${(process.memoryUsage().rss / 1048576).toFixed(1)} ${(performance.now() - started).toFixed(0)}`);
process.on('SIGTERM', () => {
  const cpu = process.cpuUsage();
  console.log(JSON.stringify({ cpu_s: (cpu.user + cpu.system) / 1e6, rss_mb: process.resourceUsage().maxRSS / 1024 }));
  process.exit(0);
});
