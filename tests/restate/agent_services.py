# Agents on the OpenAI Agents SDK and on Pydantic AI, made durable by Restate's extensions. MODEL is the address of the
# model, WORLD that of the systems that the tools use. Prints one line of JSON with the URL of the endpoint.

import asyncio
import json
import os
import socket
import urllib.request
from datetime import timedelta

import agents
import hypercorn.asyncio
import hypercorn.config
import openai
import pydantic_ai
import restate
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from restate.ext.openai import DurableRunner, durable_function_tool, restate_context
from restate.ext.pydantic import RestateAgent

MODEL, WORLD = os.environ["MODEL"], os.environ["WORLD"]
RETRIES = restate.RunOptions(max_attempts=3, initial_retry_interval=timedelta(milliseconds=50))
TOOLS = "Books trips."

client = openai.AsyncOpenAI(base_url=MODEL, api_key="none", max_retries=0)


def posted(path: str, body: dict) -> str:
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{WORLD}/{path}", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)


async def post(path: str, **body: str) -> str:
    return await asyncio.to_thread(posted, path, body)


async def weather_in(name: str, city: str) -> str:
    return await restate_context().run_typed("weather", post, path="weather", name=name, city=city)


async def answer_of(name: str, question: str) -> str:
    ctx = restate_context()
    promise_id, promise = ctx.awakeable(type_hint=str)
    await ctx.run_typed("question", post, path="question", name=name, question=question, id=promise_id)
    return await promise


async def booked(name: str, city: str) -> str:
    return await restate_context().run_typed("book", post, path="book", name=name, city=city)


# The OpenAI Agents SDK.

agents.set_default_openai_client(client, use_for_tracing=False)
agents.set_default_openai_api("chat_completions")
agents.set_tracing_disabled(True)


@durable_function_tool
async def weather(trip: agents.RunContextWrapper[str], city: str) -> str:
    """The weather in a city."""
    return await weather_in(trip.context, city)


@durable_function_tool
async def ask_person(trip: agents.RunContextWrapper[str], question: str) -> str:
    """Asks a person."""
    return await answer_of(trip.context, question)


@durable_function_tool
async def book(trip: agents.RunContextWrapper[str], city: str) -> str:
    """Books a trip to a city."""
    return await booked(trip.context, city)


openai_agents = restate.Service("openai_agents")
traveller = agents.Agent[str](name="traveller", model="scripted", instructions=TOOLS, tools=[weather, ask_person, book])


@openai_agents.handler()
async def run(_ctx: restate.Context, trip: dict) -> str:
    text = f"{trip['name']}: book a trip to {trip['city']}"
    result = await DurableRunner.run(traveller, text, context=trip["name"], run_options=RETRIES)
    return result.final_output


# Pydantic AI.

model = OpenAIChatModel("scripted", provider=OpenAIProvider(openai_client=client))
typed = pydantic_ai.Agent(model, deps_type=str, instructions=TOOLS)


@typed.tool(name="weather")
async def typed_weather(trip: pydantic_ai.RunContext[str], city: str) -> str:
    """The weather in a city."""
    return await weather_in(trip.deps, city)


@typed.tool(name="ask_person")
async def typed_ask_person(trip: pydantic_ai.RunContext[str], question: str) -> str:
    """Asks a person."""
    return await answer_of(trip.deps, question)


@typed.tool(name="book")
async def typed_book(trip: pydantic_ai.RunContext[str], city: str) -> str:
    """Books a trip to a city."""
    return await booked(trip.deps, city)


durable = RestateAgent(typed, run_options=RETRIES)
pydantic = restate.Service("pydantic_ai")


@pydantic.handler("run")
async def run_typed(_ctx: restate.Context, trip: dict) -> str:
    result = await durable.run(f"{trip['name']}: book a trip to {trip['city']}", deps=trip["name"])
    return result.output


app = restate.app([openai_agents, pydantic])
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
config = hypercorn.config.Config()
config.bind = [f"fd://{listener.fileno()}"]
config.errorlog = "-"
print(json.dumps({"url": f"http://127.0.0.1:{listener.getsockname()[1]}"}), flush=True)
asyncio.run(hypercorn.asyncio.serve(app, config))
