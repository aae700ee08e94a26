"""A workflow and an activity to begin with: change them, or replace them."""

# `Functions` and `Messages` are what the host calls.
from segno import Failure, Functions, Messages, activity, retry, workflow  # noqa: F401

TEXT = {"type": "string"}


@workflow(input=TEXT, promises={"confirmed": {"type": "boolean"}})
async def signup(email, ctx):
    """Mails a code to an address, and ends when it is confirmed."""
    # All that a workflow asks for is in a journal, from which it goes on after the death of its
    # host. So time, random numbers and everything from outside come through `ctx`, and whatever
    # has an effect is an activity.
    code = f"{ctx.random.randrange(1_000_000):06}"  # the same in every replay
    await ctx.call("send_mail", [email, code])
    # Settled from outside, perhaps next week.
    _, confirmed = ctx.promise("confirmed")
    return f"{email} is {'confirmed' if await confirmed else 'refused'}"


@activity(
    input={"type": "array", "prefixItems": [TEXT, TEXT], "minItems": 2},
    timeout_ms=60_000,
    retry=retry(initial_ms=1000, max_attempts=10),
)
async def send_mail(mail, ctx):
    """Sends a mail."""
    # Real I/O (`await ctx.http("POST", url, body=value)`), retried: it may run more than once, so
    # pass `ctx.idempotency_key` to whatever must act only once.
    to, text = mail
    if "@" not in to:
        # Final: repeating this will not help. Codes 500 and above are tried again.
        raise Failure(422, f"`{to}` is no mail address")
    print(f"mail to {to}: {text}")
