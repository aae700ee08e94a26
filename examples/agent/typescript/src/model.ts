// The model: messages in the form of chat completions, and the activity that asks for the next one.

import { activity, Failure } from '@segno/sdk';
import * as z from 'zod';

export const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string() }),
});
export type ToolCall = z.infer<typeof ToolCall>;

export const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  tool_calls: z.array(ToolCall).optional(),
  tool_call_id: z.string().optional(),
});
export type Message = z.infer<typeof Message>;

/** A piece of an answer. */
interface Delta {
  content?: string;
  tool_calls?: { index: number; id?: string; function?: { name?: string; arguments?: string } }[];
}

/** An event of the model. The last one says what the answer costs. */
interface Chunk {
  choices: { delta: Delta }[];
  usage?: { total_tokens: number };
}

export const complete = activity(
  {
    summary: 'Asks the model for the next message. Its text is appended to a stream, token by token.',
    input: z.object({ messages: z.array(Message), tools: z.array(z.unknown()), stream: z.string().optional() }),
    output: Message,
    timeout: '1h',
  },
  async ({ messages, tools, stream }, ctx) => {
    const response = await ctx.http({
      method: 'POST',
      url: `${ctx.env('MODEL_URL')}/chat/completions`,
      headers: { authorization: `Bearer ${ctx.secret('MODEL_KEY')}`, 'idempotency-key': ctx.idempotencyKey },
      json: {
        model: ctx.env('MODEL'),
        messages,
        tools: tools.length > 0 ? tools : undefined,
        stream: true,
        stream_options: { include_usage: true },
      },
    });
    if (!response.ok) {
      throw new Failure(response.status, `the model answered ${response.status}: ${await response.text()}`);
    }

    const answer: Message = { role: 'assistant', content: '' };
    const tokens = stream === undefined ? undefined : ctx.stream(stream);
    // An attempt that was interrupted has stored the first of them.
    let kept = tokens?.kept() ?? 0;
    // Each event is there when the model has sent it.
    for await (const { data } of response.events()) {
      if (data === '[DONE]') break;
      const { choices, usage }: Chunk = JSON.parse(data);
      if (usage) ctx.cost('tokens', usage.total_tokens);
      const delta = choices[0]?.delta ?? {};
      if (delta.content) {
        answer.content += delta.content;
        if (kept > 0) kept -= 1;
        else tokens?.append(delta.content);
      }
      for (const piece of delta.tool_calls ?? []) {
        const calls = (answer.tool_calls ??= []);
        const call = (calls[piece.index] ??= { id: '', type: 'function', function: { name: '', arguments: '' } });
        call.id += piece.id ?? '';
        call.function.name += piece.function?.name ?? '';
        call.function.arguments += piece.function?.arguments ?? '';
      }
    }
    return answer;
  },
);
