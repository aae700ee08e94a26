"""A client: `ask.py rpc ID FUNCTION …`. Prints what came of it as one line of JSON."""

import asyncio
import json
import os
import sys

from resonate.resonate import Resonate


async def main() -> None:
    how, id, name, *args = sys.argv[1:]
    values = [json.loads(text) for text in args]
    resonate = Resonate(url=os.environ["URL"], group="clients")
    target = f"wasm://bridge/{name}" if how == "module" else "workers"
    try:
        handle = resonate.options(target=target).rpc(id, name, *values)
        line = {"value": await handle.result()}
    except Exception as error:
        line = {"error": str(error)}
    print(json.dumps(line), flush=True)
    await resonate.stop()


if __name__ == "__main__":
    asyncio.run(main())
