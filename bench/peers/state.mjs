// RunState encode and decode with @openai/agents at several conversation lengths.
// usage: node state.mjs ITEMS...
import { Agent, Runner, RunState, tool, setTracingDisabled, Usage } from '@openai/agents';
import { z } from 'zod';

setTracingDisabled(true);
const filler = 'x'.repeat(500);

// A model that calls an ungated tool until the conversation is long enough, then the gated one.
const scripted = (calls) => {
  let n = 0;
  return { getResponse: async () => {
    n++;
    const name = n <= calls ? 'look' : 'transfer';
    return { usage: new Usage(), responseId: `r${n}`, output: [{ type: 'function_call', callId: `c${n}`, name, arguments: '{}', status: 'completed' }] };
  } };
};
for (const items of process.argv.slice(2).map(Number)) {
  const agent = new Agent({
    name: 'bench', model: scripted(Math.floor(items / 2) - 1),
    tools: [
      tool({ name: 'look', description: 'look', parameters: z.object({}), execute: async () => filler }),
      tool({ name: 'transfer', description: 'transfer', parameters: z.object({}), needsApproval: true, execute: async () => 'ok' }),
    ],
  });
  const paused = await new Runner().run(agent, 'go', { maxTurns: items });
  const reps = items >= 1000 ? 1 : items >= 100 ? 5 : 50;
  const t0 = performance.now();
  let text;
  for (let i = 0; i < reps; i++) text = paused.state.toString();
  const t1 = performance.now();
  for (let i = 0; i < reps; i++) await RunState.fromString(agent, text);
  const t2 = performance.now();
  console.log(JSON.stringify({ name: '@openai/agents', items, encode_ms: (t1 - t0) / reps, decode_ms: (t2 - t1) / reps, bytes: text.length }));
}
