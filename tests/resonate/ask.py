"""A client: `ask.py run|rpc|module|settle|schedule|unschedule ID …`. Prints what came of it as one line of JSON."""

import asyncio
import json
import os
import sys

from functions import register
from resonate.resonate import Resonate
from resonate.retry import Never
from resonate.types import Value


async def answer(resonate: Resonate, how: str, id: str, name: str = "", *args: str) -> object:
    values = [json.loads(text) for text in args]
    workers = resonate.options(target="workers")
    match how:
        case "run":
            register(resonate)
            return await resonate.run(id, name, *values).result()
        case "rpc":
            return await workers.rpc(id, name, *values).result()
        case "module":
            return await resonate.options(target=f"wasm://bridge/{name}").rpc(id, name, *values).result()
        case "settle":
            await resonate.promises.resolve(id, Value(data=json.loads(name)))
        case "schedule":
            await workers.schedule(id, "* * * * * *", name, tuple(values))
        case "unschedule":
            await resonate.schedules.delete(id)
        case _:
            raise ValueError(f"{how} is no way to ask")
    return None


async def main() -> None:
    how, *asked = sys.argv[1:]
    group = "workers" if how == "run" else "clients"
    resonate = Resonate(url=os.environ["URL"], group=group, retry_policy=Never())
    try:
        line = {"value": await answer(resonate, how, *asked)}
    except Exception as error:
        line = {"error": str(error)}
    print(json.dumps(line), flush=True)
    await resonate.stop()


if __name__ == "__main__":
    asyncio.run(main())
