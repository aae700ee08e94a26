// An agent on the Vercel AI SDK, made durable by Restate's middleware. MODEL is the address of the model, WORLD that of
// the systems that its tools use. Prints one line of JSON with the URL of the endpoint.

import http2 from "node:http2";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as restate from "@restatedev/restate-sdk";
import { durableCalls } from "@restatedev/vercel-ai-middleware";
import { generateText, isStepCount, tool, wrapLanguageModel } from "ai";
import { z } from "zod";

const { MODEL, WORLD } = process.env;
const models = createOpenAICompatible({ name: "scripted", baseURL: MODEL });

const post = async (path, body) => {
  const response = await fetch(`${WORLD}/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path} was answered ${response.status}`);
  return response.json();
};

const tools = (ctx, name) => ({
  weather: tool({
    description: "The weather in a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ctx.run("weather", () => post("weather", { name, city })),
  }),
  ask_person: tool({
    description: "Asks a person",
    inputSchema: z.object({ question: z.string() }),
    execute: async ({ question }) => {
      const { id, promise } = ctx.awakeable();
      await ctx.run("question", () => post("question", { name, question, id }));
      return await promise;
    },
  }),
  book: tool({
    description: "Books a trip to a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ctx.run("book", () => post("book", { name, city })),
  }),
});

const vercel = restate.service({
  name: "vercel",
  handlers: {
    run: async (ctx, { name, city }) => {
      const model = wrapLanguageModel({
        model: models("scripted"),
        middleware: durableCalls(ctx, { maxRetryAttempts: 3 }),
      });
      const { text } = await generateText({
        model,
        prompt: `${name}: book a trip to ${city}`,
        tools: tools(ctx, name),
        stopWhen: isStepCount(10),
        maxRetries: 0,
      });
      return text;
    },
  },
});

const server = http2.createServer(restate.createEndpointHandler({ services: [vercel] }));
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` }));
});
