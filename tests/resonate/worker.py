"""A worker: takes tasks until it is killed."""

import asyncio
import os
from datetime import timedelta

from functions import register
from resonate.resonate import Resonate
from resonate.retry import Never


async def main() -> None:
    ttl = timedelta(milliseconds=int(os.environ.get("TTL", "60000")))
    resonate = Resonate(
        url=os.environ["URL"], group="workers", pid=os.environ["WORKER"], ttl=ttl, retry_policy=Never()
    )
    register(resonate)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
