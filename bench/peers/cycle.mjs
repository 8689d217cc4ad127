// The cycle with @openai/agents: run, interrupt, write the state durably, read it, approve, resume, answer.
// usage: node cycle.mjs BASE_URL DIR TOTAL WIDTH
import { Agent, Runner, RunState, tool, OpenAIProvider, setTracingDisabled } from '@openai/agents';
import { open, readFile } from 'node:fs/promises';
import { z } from 'zod';
import { measure } from './measure.mjs';

const [baseURL, dir, total, width] = process.argv.slice(2);
setTracingDisabled(true);
let effects = 0;
const agent = new Agent({
  name: 'bench',
  instructions: 'You move money.',
  model: 'bench-model',
  tools: [tool({
    name: 'transfer',
    description: 'Move money between two accounts.',
    parameters: z.object({ amount: z.number(), to: z.string() }),
    needsApproval: true,
    execute: async () => { effects++; return 'transferred'; },
  })],
});
const runner = new Runner({ modelProvider: new OpenAIProvider({ apiKey: 'bench', baseURL, useResponses: true }) });

await measure('@openai/agents', Number(total), Number(width), async (i) => {
  const paused = await runner.run(agent, 'transfer 250 to acme');
  if (paused.interruptions.length !== 1) throw new Error('no interruption');
  const file = `${dir}/${i}.json`;
  const handle = await open(file, 'w');
  await handle.writeFile(paused.state.toString());
  await handle.sync();
  await handle.close();
  const state = await RunState.fromString(agent, await readFile(file, 'utf8'));
  for (const interruption of state.getInterruptions()) state.approve(interruption);
  const done = await runner.run(agent, state);
  if (!done.finalOutput) throw new Error('no answer');
});
if (effects < Number(total)) throw new Error(`only ${effects} effects`);
