"""Streams that a workflow and its activity write."""

from segno_sdk import ActivityContext, Context, Failure, Retry, activity, workflow


@activity(retry=Retry(initial="10ms", jitter=0, max_attempts=3))
def recite(words: list[str], ctx: ActivityContext) -> int:
    tokens, log = ctx.stream("tokens"), ctx.stream("log", content_type="text/plain")
    kept = tokens.kept()
    for word in words[kept:]:
        tokens.append({"word": word})
        log.append(f"{word}\n")
        if word == "two":
            raise ValueError("lost")
    return kept


@workflow(name="stream-write")
async def stream_write(ctx: Context) -> list[int]:
    tokens, log = ctx.stream("tokens"), ctx.stream("log", content_type="text/plain")
    tokens.append({"begin": True})
    log.append("grüß dich\n")
    await ctx.sleep("500ms")
    kept = await ctx.call(recite, ["one", "two", "three"])
    tokens.append([1, None, "end"])
    log.close()
    try:
        log.append("late")
    except Failure as failure:
        return [kept, failure.code]
    return [kept, 0]
