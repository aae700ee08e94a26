// An agent that survives everything: a loop over a model, with tools, approvals and a memory.
//
// It shows a conversation as an object, whose turns are executed one at a time; the answer of the model as a durable
// stream; tools in a module of their own, which may reach other hosts than this one; a person who approves; a tool that
// is cancelled; a history that is summarised when it grows; and a second agent as a child workflow.

import { Failure, object, workflow, type WorkflowContext } from '@segno/sdk';
import * as z from 'zod';
import { CLERK, described, RESEARCHER, type Agent } from './agents.js';
import { complete, Message, type ToolCall } from './model.js';

export { complete };

/** Size of a history, in characters, beyond which a turn begins with a summary. */
const HISTORY_MAX = 4_000;
/** Characters of a tool's result that the model gets. */
const RESULT_MAX = 2_000;
/** Requests to the model in one turn. */
const ROUNDS_MAX = 10;

export const Conversation = object({ state: { messages: z.array(Message) } }, ({ exclusive, shared }) => ({
  say: exclusive(
    {
      summary: 'Answers a text. The answer grows in the stream `answer` of this invocation.',
      input: z.string(),
      output: z.string(),
      expose: 'mcp',
    },
    async (text, ctx) => {
      const history = await compacted((await ctx.state.get('messages')) ?? [], ctx);
      history.push({ role: 'user', content: text });
      const answer = await converse(CLERK, history, ctx, () => ctx.state.set('messages', history));
      ctx.stream('answer').append({ answer });
      return answer;
    },
  ),
  history: shared({ summary: 'The messages so far.', output: z.array(Message) }, async (_, ctx) => {
    return (await ctx.state.get('messages')) ?? [];
  }),
}));

export const research = workflow(
  {
    summary: 'A second agent, with a conversation and tools of its own.',
    input: z.object({ question: z.string() }),
    output: z.string(),
  },
  async ({ question }, ctx) => converse(RESEARCHER, [{ role: 'user', content: question }], ctx),
);

/** Asks the model, and does what it asks for, until it answers. `keep` is called when the history is complete. */
/** Nothing, if a failure says that a budget is spent. */
function spent(failure: unknown): undefined {
  if (failure instanceof Failure && failure.spentBudget !== undefined) return undefined;
  throw failure;
}

async function converse(agent: Agent, history: Message[], ctx: WorkflowContext, keep = () => {}): Promise<string> {
  const system: Message = { role: 'system', content: agent.instructions };
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const messages = [system, ...history];
    const answer = await ctx.call(complete, { messages, tools: described(agent), stream: 'answer' }).catch(spent);
    if (answer === undefined) return 'I have used up my budget.';
    const results = await Promise.all((answer.tool_calls ?? []).map((call) => use(agent, call, ctx)));
    history.push(answer, ...results);
    keep();
    if (results.length === 0) return answer.content;
  }
  throw new Failure(422, `no answer after ${ROUNDS_MAX} rounds`);
}

/** Calls a tool. Whatever happens becomes a message, by which the model goes on. */
async function use(agent: Agent, call: ToolCall, ctx: WorkflowContext): Promise<Message> {
  const { name } = call.function;
  const message = (text: string): Message => {
    return { role: 'tool', tool_call_id: call.id, content: Array.from(text).slice(0, RESULT_MAX).join('') };
  };
  const tool = agent.tools[name];
  if (!tool) return message(`there is no tool ${name}`);
  try {
    const input = parsed(call.function.arguments);
    if (tool.asks && !(await ctx.call(approval, { tool: name, input }))) return message('a person refused it');
    return message(String(await ctx.call(tool.target, input, { labels: { tool: name } })));
  } catch (error) {
    // Any other error is a defect of this code.
    if (!(error instanceof Failure)) throw error;
    return message(error.isCancelled ? 'cancelled' : `failed: ${error.message}`);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Failure(422, 'the arguments are not JSON');
  }
}

export const approval = workflow(
  {
    summary: 'Waits until a person decides about the call of a tool: `{invocation}/p/decision`.',
    input: z.object({ tool: z.string(), input: z.unknown() }),
    output: z.boolean(),
    promises: { decision: z.boolean() },
  },
  async (_, ctx) => ctx.promise('decision', { timeout: '3d' }),
);

const isOfUser = (message: Message): boolean => message.role === 'user';

/** The history, or a summary and its last turn if it has become too long. */
async function compacted(history: Message[], ctx: WorkflowContext): Promise<Message[]> {
  const last = Math.max(history.findLastIndex(isOfUser), 0);
  const [old, recent] = [history.slice(0, last), history.slice(last)];
  if (JSON.stringify(history).length <= HISTORY_MAX || !old.some(isOfUser)) return history;
  const request: Message = { role: 'user', content: 'Summarise this conversation in a few sentences.' };
  const { content } = await ctx.call(complete, { messages: [...old, request], tools: [] });
  return [{ role: 'system', content: `Summary of what was said before: ${content}` }, ...recent];
}
