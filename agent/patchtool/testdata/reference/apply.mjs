// Reads cases as JSON from standard input, and writes what applyDiff of @openai/agents-core makes of each.
import { applyDiff } from '@openai/agents-core';

let text = '';
process.stdin.setEncoding('utf8');
for await (const chunk of process.stdin) text += chunk;
const results = JSON.parse(text).map(({ input, diff, create }) => {
  try {
    return { text: applyDiff(input, diff, create ? 'create' : 'default') };
  } catch (error) {
    return { error: String(error.message) };
  }
});
process.stdout.write(JSON.stringify(results));
