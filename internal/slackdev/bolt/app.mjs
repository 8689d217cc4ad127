// A small app on Slack's own framework. The Go test beside it plays the people
// and judges the workspace by what this app receives and is told.
import bolt from '@slack/bolt';

const { App, Assistant, LogLevel } = bolt;
const { MODE, API_URL, BOT_TOKEN, APP_TOKEN, SIGNING_SECRET } = process.env;

const app = new App({
  token: BOT_TOKEN,
  logLevel: LogLevel.ERROR,
  clientOptions: { slackApiUrl: API_URL },
  ...(MODE === 'socket' ? { appToken: APP_TOKEN, socketMode: true } : { signingSecret: SIGNING_SECRET }),
});

const text = (t) => ({ type: 'plain_text', text: t });
const button = (id, label) => ({ type: 'button', action_id: id, value: 'req_1', text: text(label) });

// tell writes an answer piece by piece, with Slack's own streamer.
async function tell(client, place) {
  const stream = client.chatStream({ ...place, buffer_size: 1, task_display_mode: 'timeline' });
  await stream.append({ markdown_text: 'First, **one**.' });
  const task = { type: 'task_update', id: 'call_1', title: 'look it up' };
  await stream.append({ chunks: [{ ...task, status: 'in_progress' }] });
  await stream.append({ chunks: [{ ...task, status: 'complete', output: 'found' }] });
  await stream.append({ chunks: [{ type: 'blocks', blocks: [{ type: 'section', text: text('In between.') }] }] });
  await stream.stop({
    markdown_text: 'Then two.',
    blocks: [{ type: 'actions', block_id: 'after', elements: [button('approve', 'Approve')] }],
    metadata: { event_type: 'told', event_payload: { parts: 2 } },
  });
}

app.assistant(new Assistant({
  threadStarted: async ({ setSuggestedPrompts, setTitle, say }) => {
    await setTitle('Payments');
    await setSuggestedPrompts({ title: 'Try', prompts: [{ title: 'Balance', message: 'what is the balance?' }] });
    await say('Ask me.');
  },
  threadContextChanged: async ({ say, event }) => {
    await say(`You look at ${event.assistant_thread.context.channel_id}.`);
  },
  userMessage: async ({ message, client, setStatus }) => {
    await setStatus('is thinking…');
    await tell(client, { channel: message.channel, thread_ts: message.thread_ts });
  },
}));

app.event('app_mention', async ({ event, say, client, context }) => {
  if (event.text.includes('tell me')) {
    const to = { recipient_user_id: event.user, recipient_team_id: context.teamId };
    await tell(client, { channel: event.channel, thread_ts: event.ts, ...to });
    return;
  }
  await say({
    text: 'Approval needed',
    thread_ts: event.ts,
    blocks: [
      { type: 'section', text: text(event.text) },
      { type: 'actions', block_id: 'buttons', elements: [button('approve', 'Approve'), button('reject', 'Reject')] },
    ],
  });
});

app.action('approve', async ({ ack, body, client }) => {
  await ack();
  await client.chat.update({
    channel: body.channel.id,
    ts: body.message.ts,
    text: `approved by ${body.user.id}`,
    blocks: [{ type: 'section', text: text(`approved ${body.actions[0].value}`) }],
  });
});

app.action('reject', async ({ ack, body, client, respond }) => {
  await ack();
  await client.views.open({
    trigger_id: body.trigger_id,
    view: {
      type: 'modal',
      callback_id: 'reason',
      title: text('Reject'),
      submit: text('Reject'),
      notify_on_close: true,
      blocks: [{ type: 'input', block_id: 'reason', label: text('Reason'), element: { type: 'plain_text_input', action_id: 'text' } }],
    },
  });
  await respond({ text: 'the form is open', response_type: 'ephemeral', replace_original: false });
});

app.view('reason', async ({ ack, view, body, client }) => {
  const reason = view.state.values.reason.text.value;
  if (reason.length < 5) {
    await ack({ response_action: 'errors', errors: { reason: 'too short' } });
    return;
  }
  await ack();
  await client.chat.postMessage({ channel: body.user.id, text: `rejected: ${reason}` });
});

app.view({ callback_id: 'reason', type: 'view_closed' }, async ({ ack, body, client }) => {
  await ack();
  await client.chat.postMessage({ channel: body.user.id, text: 'closed' });
});

app.command('/approvals', async ({ ack, command }) => {
  await ack({ response_type: 'ephemeral', text: `nothing pending for ${command.user_id}: ${command.text}` });
});

// Slack's client follows the cursors itself.
app.command('/where', async ({ ack, command, client }) => {
  const ids = [];
  const query = { user: command.text, types: 'public_channel,private_channel', limit: 2 };
  for await (const page of client.paginate('users.conversations', query)) {
    ids.push(...page.channels.map((c) => `${c.name}${c.is_private ? ' (private)' : ''}`));
  }
  await ack(`${command.text} is in: ${ids.join(', ')}`);
});

app.shortcut('approvals_list', async ({ ack, shortcut, client }) => {
  await ack();
  await client.views.open({
    trigger_id: shortcut.trigger_id,
    view: { type: 'modal', title: text('Pending'), blocks: [{ type: 'section', text: text('none') }] },
  });
});

app.event('app_home_opened', async ({ event, client }) => {
  await client.views.publish({ user_id: event.user, view: { type: 'home', blocks: [{ type: 'header', text: text('Home') }] } });
});

app.message('hello', async ({ message, say }) => {
  await say(`hello <@${message.user}>`);
});

app.error(async (error) => {
  console.log(`error ${error}`);
});

const server = await app.start(MODE === 'socket' ? undefined : { port: 0, host: '127.0.0.1' });
console.log(MODE === 'socket' ? 'ready' : `ready ${server.address().port}`);
process.stdin.resume().on('end', () => process.exit(0)); // the parent is gone
