"""The workflow contract as ordinary `async` Python: everything that is needed to write Segno functions.

The host tells one event at a time (`start`, then `resume`). Each event settles at most one future, and everything that
becomes ready by that runs before the call returns. There is no event loop: when nothing is ready, the host has control.
"""

import base64
import inspect
import json
import random
import re
import traceback
from collections import deque

from componentize_py_types import Err
from wit_world.exports import messages as _messages
from wit_world.exports import objects as _objects
from wit_world.imports import activity as _activity
from wit_world.imports import configuration as _configuration
from wit_world.imports import files as _files
from wit_world.imports import generations as _generations
from wit_world.imports import journal, types
from wit_world.imports import object_promises as _object_promises
from wit_world.imports import sagas as _sagas
from wit_world.imports import signals as _told_signals
from wit_world.imports import state as _state

try:
    from wit_world.exports import exposures as _exposures
except ImportError:
    _exposures = None  # The module that is built has no `Exposures`.
try:
    from wit_world.exports import handlers as _handlers
except ImportError:
    _handlers = None  # The module that is built has no `Handlers`.
try:
    from wit_world.exports import limits as _limits
except ImportError:
    _limits = None  # The module that is built has no `Limits`.


class Failure(Exception):
    """Why a function, a step or a promise failed. For activities codes 400 to 499 are final, others are tried again."""

    def __init__(self, code, message, details=None):
        super().__init__(message)
        self.code, self.message, self.details = code, message, details


class NotJson(ValueError):
    """A value that JSON does not have. `at`: where it came from, if that is not on the stack."""

    def __init__(self, message, at=None):
        super().__init__(message)
        self.at = at


def encode(value, what):
    """As `json.dumps` does it. What that would change in silence is refused: `nan` and infinities, keys that become the same
    text, and halves of characters."""
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
        if "\\ud" in text:
            json.dumps(value, ensure_ascii=False).encode()
        if "{" in text:
            json.loads(text, object_pairs_hook=_once)
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        message = f"{what} is not JSON: {half!a} is half of a character (a lone surrogate)"
    except (TypeError, ValueError, RecursionError) as error:
        message = f"{what} is not JSON: {error}"
    else:
        return types.Payload_Json(text)
    raise NotJson(message)


def _once(pairs):
    keys = set()
    for key, _ in pairs:
        if key in keys:
            raise ValueError(f"two keys of a dict are `{key}` in JSON")
        keys.add(key)


def decode(payload):
    return json.loads(payload.value) if isinstance(payload, types.Payload_Json) else payload.value


def _body(body, url):
    return None if body is None else encode(body, f"the body of the request to {url}")


def success(value, what):
    return types.Outcome_Success(encode(value, what))


def failure(error):
    if isinstance(error, Failure):
        details = None if error.details is None else encode(error.details, "the details of the failure")
        return types.Outcome_Failure(types.Failure(error.code, error.message, details))
    at, message = defect(error)
    return types.Outcome_Failure(types.Failure(500, f"{at}: {message}", None))


_THIS = (lambda: None).__code__.co_filename


def _source(filename):
    """The name by which its author knows a file: the build numbers the folders of sources, so that `app.py` is `/0/app.py`."""
    return re.sub("^/[0-9]+/", "", filename)


def defect(error):
    """Where something was raised that is no `Failure`, and what its author wants to see of it."""
    # By hand: `traceback` would open the source to quote it, and there are no files here.
    frames = [
        (f"{_source(frame.f_code.co_filename)}:{line}", frame.f_code.co_name)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename != _THIS
    ]
    places = [f"    at {name} ({place})" for place, name in reversed(frames[-20:])]
    at = frames[-1][0] if frames else getattr(error, "at", None) or "an unknown place"
    return at, "\n".join([f"{type(error).__name__}: {error}", *places])


# What runs next, and the futures of commands whose completion is still to come.
_ready = deque()
_waiting = {}
# Those that a cancellation does not touch: what sagas need to know.
_shielded = {}
# Signals that nobody has read, with their numbers; and those that wait for one. A wait that is over without one, because it lost
# a race, is no longer among the listeners, so that it takes nothing.
_signals = []
_listeners = []
_heard = 0
_polls = 0
# Those that wait for a condition.
_conditions = []


class Future:
    """A value that comes later. May be awaited any number of times."""

    def __init__(self):
        self._settled, self._value, self._error, self._tasks = False, None, None, []

    def settle(self, value=None, error=None):
        self._settled, self._value, self._error = True, value, error
        _ready.extend(self._tasks)

    def __await__(self):
        if not self._settled:
            yield self
        if self._error is not None:
            raise self._error
        return self._value


class _Wait(Future):
    """A wait for a signal. Whoever uses it waits; where a race goes on without it, nobody does, until it is used again."""

    def __init__(self):
        super().__init__()
        self._taken, self._read = None, False
        self.begin()

    def begin(self):
        if not self._settled and self not in _listeners:
            self._since = _polls
            _listeners.append(self)
            _hear()

    def end(self):
        if self in _listeners:
            _listeners.remove(self)
        elif self._taken is not None and not self._read:
            # What it took in the same moment as another one won, and what nobody saw, is unread again.
            _signals.append(self._taken)
            _signals.sort()
            self._settled, self._value, self._taken = False, None, None
            _hear()

    def __await__(self):
        self.begin()
        signal = yield from super().__await__()
        self._read = True
        return signal


def _hear():
    """Gives the first unread signal to whoever waits. Of those that wait, one that began after the last event comes before those
    that have waited longer: theirs may be a race that was lost in a way that nobody can see."""
    while _signals and _listeners:
        since = _listeners[-1]._since
        listener = next(one for one in _listeners if one._since == since)
        _listeners.remove(listener)
        listener._taken = _signals.pop(0)
        listener.settle(listener._taken[1])


def spawn(coroutine):
    """Runs a coroutine beside the others; its future is its result."""
    ended = Future()
    ended._awaited = None

    def step():
        if ended._settled:
            return
        try:
            awaited = coroutine.send(None)
        except StopIteration as stop:
            ended.settle(stop.value)
        except Exception as error:
            ended.settle(error=error)
        else:
            ended._awaited = awaited
            awaited._tasks.append(step)

    def abandon():
        if ended._settled:
            return
        ended._settled, ended._error = True, Failure(499, "another one was faster")
        if ended._awaited is not None and step in ended._awaited._tasks:
            ended._awaited._tasks.remove(step)
            _end(ended._awaited)
        coroutine.close()

    ended._abandon = abandon
    _ready.append(step)
    return ended


def _end(future):
    """Nobody goes on with a future, unless another one awaits it."""
    if future._tasks:
        return
    if isinstance(future, _Wait):
        future.end()
    elif hasattr(future, "_abandon"):
        future._abandon()


def _begun_futures(awaitables):
    return [one if isinstance(one, Future) else spawn(one) for one in awaitables]


async def gather(*awaitables):
    """The results of all, in order; the first failure in that order is raised."""
    spawned = _begun_futures(awaitables)
    try:
        return [await one for one in spawned]
    except GeneratorExit:
        for one in spawned:
            _end(one)
        raise


async def _first(futures):
    """The first one that is settled. The others end: a wait for a signal takes none, and a coroutine is closed."""
    woken = Future()

    def wake():
        if not woken._settled:
            woken.settle()

    try:
        for one in futures:
            if isinstance(one, _Wait):
                one.begin()
            one._tasks.append(wake)
        if not any(one._settled for one in futures):
            await woken
        return next(one for one in futures if one._settled)
    finally:
        winner = next((one for one in futures if one._settled), None)
        for one in futures:
            if wake in one._tasks:
                one._tasks.remove(wake)
            if one is not winner:
                _end(one)


async def race(*awaitables):
    """The result of the first that ends, or its failure. The others end: a wait for a signal takes none, a coroutine goes no
    further. What they had asked for goes on."""
    return await (await _first(_begun_futures(awaitables)))


#: No instant and no length is beyond the end of the year 9999.
_LONGEST_MS = 253_402_300_799_999


def _number(option, value, least, most, whole=True):
    """The value of an option, if it is such a number; the error names the option."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    if is_number and (not whole or int(value) == value):
        return int(value) if whole else float(value)
    kind = "whole number" if whole else "number"
    raise ValueError(f"`{option}` is {value!r}, and has to be a {kind} from {least} to {most}")


def _millis(option, value):
    return None if value is None else _number(option, value, 0, _LONGEST_MS)


def _count(option, value):
    return None if value is None else _number(option, value, 1, 0xFFFF_FFFF)


def drain():
    while _ready:
        _ready.popleft()()


def _look():
    """Wakes those whose condition holds; false if there are none."""
    held = []
    for condition in list(_conditions):
        holds, future = condition
        try:
            if not holds():
                continue
            future.settle()
        except Exception as error:
            future.settle(error=error)
        _conditions.remove(condition)
        held.append(future)
    return bool(held)


def _shielded_completion(command):
    _shielded[command] = Future()
    return _shielded[command]


def _completion(command):
    _waiting[command] = Future()
    return _waiting[command]


def _started(command):
    """The completion of a command that can be cancelled."""
    future = _completion(command)
    future._command = command
    return future


class _Unread(tuple):
    """A signal behind its number, by which alone it is sorted."""

    def __lt__(self, other):
        return self[0] < other[0]


def _told(event):
    global _heard, _polls
    _polls += 1
    match event:
        case types.Event_Completed(types.Completion(command, outcome)):
            for future in filter(None, (_shielded.pop(command, None), _waiting.pop(command, None))):
                match outcome:
                    case types.Outcome_Success(payload):
                        future.settle(decode(payload))
                    case types.Outcome_Failure(types.Failure(code, message, details)):
                        details = None if details is None else decode(details)
                        future.settle(error=Failure(code, message, details))
        case types.Event_Signal(types.Signal(name, payload)):
            number, _heard = _heard, _heard + 1
            if name.startswith(_UPDATE):
                _accept(name.removeprefix(_UPDATE), payload)
            else:
                _signals.append(_Unread((number, (name, decode(payload)))))
                _hear()
        case types.Event_Cancelled():
            # Seen as an error at every await; what the function asks for after that is its cleaning up.
            for command in _waiting:
                if command not in _shielded:
                    journal.forget(command)
            for future in [*_waiting.values(), *_listeners, *(future for _, future in _conditions)]:
                future.settle(error=Failure(499, "the invocation was cancelled"))
            _waiting.clear()
            _listeners.clear()
            _conditions.clear()


def retry(initial_ms=100, factor=2.0, max_ms=60_000, jitter=0.2, max_attempts=None, non_retryable=()):
    return types.RetryOptions(
        _number("retry(initial_ms)", initial_ms, 0, _LONGEST_MS),
        _number("retry(factor)", factor, 0, 1.7976931348623157e308, whole=False),
        _number("retry(max_ms)", max_ms, 0, _LONGEST_MS),
        _number("retry(jitter)", jitter, 0, 1, whole=False),
        _count("retry(max_attempts)", max_attempts),
        [_number("retry(non_retryable)", code, 0, 0xFFFF_FFFF) for code in non_retryable],
    )


def _options(timeout_ms=None, retry=None, start_at_ms=None, labels=None, attempt_timeout_ms=None):
    if retry is not None and not isinstance(retry, types.RetryOptions):
        raise TypeError(f"`retry` is {retry!r}, and has to be made by `retry(…)`")
    for name, value in (labels or {}).items():
        if not isinstance(name, str) or not isinstance(value, str):
            raise TypeError(f"the label {name!r} is {value!r}, and has to be a text")
    timeout_ms, start_at_ms = _millis("timeout_ms", timeout_ms), _millis("start_at_ms", start_at_ms)
    labels = list((labels or {}).items())
    if attempt_timeout_ms is not None:
        # The contract has no field for the limit of an attempt, but a label.
        labels.append(("segno:attempt-timeout-ms", str(_millis("attempt_timeout_ms", attempt_timeout_ms))))
    return types.CallOptions(timeout_ms, retry, start_at_ms, labels)


class Segno:
    """What a workflow may ask for: the second argument of its function. The methods that answer a future ask at once, awaited or not."""

    def __init__(self, context):
        self.invocation = context.invocation
        #: Draws the same in every replay of this invocation, and something else in every other.
        self.random = random.Random(bytes(context.seed))
        self._seed = bytes(context.seed)
        #: In a function of an object: what is kept under its key.
        self.state = State

    @property
    def key(self):
        """In a function of an object: whose state this is."""
        return _state.key()

    def promise_of(self, name):
        """In a function of an object: a promise of the object, by its name."""
        return ObjectPromise(name)

    def call(self, function, value, **options):
        """Calls a workflow or an activity: of this module, or `wasm://MODULE/FUNCTION`."""
        return _started(journal.call(function, encode(value, f"the input of `{function}`"), _options(**options)))

    def send(self, function, value, **options):
        """Starts a function that outlives this invocation; answers its id."""
        return _completion(journal.send(function, encode(value, f"the input of `{function}`"), _options(**options)))

    def sleep(self, ms):
        length = _number("sleep", ms, 0, _LONGEST_MS)
        return _started(journal.sleep_until(_number("sleep", journal.now() + length, 0, _LONGEST_MS)))

    async def timeout(self, ms, awaitable):
        """Its result, if it is there in time, else a `Failure` 408. Then nobody waits for it any more: a wait for a signal takes
        none, a coroutine goes no further. What it had asked for goes on."""
        late = self.sleep(ms)
        winner = await _first(_begun_futures([awaitable, late]))
        if winner is late:
            raise Failure(408, f"it took longer than {ms} ms")
        return await winner

    def promise(self, name=None, timeout_ms=None):
        """A promise that somebody outside settles: its id, and its future."""
        command, promise_id = journal.promise(name, types.PromiseOptions(_millis("timeout_ms", timeout_ms)))
        return promise_id, _started(command)

    def settle(self, promise_id, value):
        return _completion(journal.settle(promise_id, success(value, f"the value of promise `{promise_id}`")))

    def http(self, method, url, headers=None, body=None, **options):
        headers = list((headers or {}).items())
        request = types.HttpRequest(method, url, headers, _body(body, url))
        return _started(journal.http(request, _options(**options)))

    def cancel(self, asked):
        """Cancels what `call`, `http` or `sleep` answered, or the future of a `promise`. A sleep, a promise or a request ends at
        once, and its future raises a `Failure` 499. A called workflow or activity is asked to stop, and its future gives what it
        answers."""
        command = getattr(asked, "_command", None)
        if command is None:
            raise TypeError(f"`cancel` takes the future of a `call`, `http`, `sleep` or `promise`, and not {asked!r}")
        return _completion(journal.cancel(command))

    def saga(self, name):
        """Begins a saga: steps that are undone, the last one first, when a `Failure` leaves the workflow. The name tells it
        from the others of this workflow."""
        return Saga(name, self)

    def share(self, value):
        """Shares an object with the queries and updates of this workflow, which see it from now on, also after the end. A
        workflow shares one."""
        if _running.shared is not None:
            raise ValueError("this workflow shares a value already: add to it what another would have")
        _running.shared = value
        return value

    def until(self, holds):
        """Waits until the condition holds: an update, or another part of the workflow, has made it true."""
        future = Future()
        _conditions.append((holds, future))
        return future

    def updates_done(self):
        """Waits until every update that was accepted has been answered. Those that are not when the workflow ends are
        cancelled."""
        return self.until(lambda: _running.unanswered == 0)

    def publish(self, topic, value):
        return _completion(journal.publish(topic, encode(value, f"the event on topic `{topic}`")))

    def run(self, name, compute):
        """Does `compute` once and keeps its result. It may not wait or use anything else of this object."""
        answer = journal.run(name)
        future = _completion(answer.value)
        if isinstance(answer, types.RunAnswer_Execute):
            # A replay does not compute again, so what is drawn here must not move what is drawn after it.
            outside = self.random.getstate(), random.getstate()
            for generator in (self.random, random):
                generator.seed(self._seed + answer.value.to_bytes(4, "little"))
            try:
                outcome = success(compute(), f"the result of the step `{name}`")
            except NotJson as error:
                code = getattr(compute, "__code__", None)
                error.at = code and f"{_source(code.co_filename)}:{code.co_firstlineno}"
                outcome = failure(error)
            except Exception as error:
                outcome = failure(error)
            self.random.setstate(outside[0])
            random.setstate(outside[1])
            journal.run_done(answer.value, outcome)
        return future

    def signal(self):
        """The next signal from outside: its name and value. One that loses a `race` or a `timeout` takes none."""
        return _Wait()

    def send_signal(self, invocation, name, value):
        """Sends another invocation a signal."""
        return _completion(_told_signals.send(invocation, name, encode(value, f"the value of signal `{name}`")))

    def continue_as_new(self, value, same_code=False):
        """Ends this generation, and has the next one begin with this input: `return segno.continue_as_new(value)`. It has the id,
        the labels, the deadline and the signals that were not read. It runs the newest code, or with `same_code` that of this one."""
        return _NextGeneration(encode(value, "the input of the next generation"), same_code)

    def now(self):
        """Logical time in milliseconds: the instant of the last event."""
        return journal.now()

    def log(self, message, level=types.Level.INFO):
        journal.log(level, message)


class _NextGeneration:
    def __init__(self, input, same_code):
        self.input, self.same_code = input, same_code


def _finish(outcome):
    _running.finished = True
    if _signals:
        _told_signals.unread([number for number, _ in _signals])
    if isinstance(outcome, _NextGeneration):
        _generations.continue_as_new(outcome.input, outcome.same_code)
    else:
        journal.finish(outcome)


class State:
    """What is kept under the key of an object, by name. What is written is stored with the next step; shared functions only
    read."""

    @staticmethod
    def get(name):
        """The value, or None where there is none. To be awaited, as `names`."""
        return _completion(_state.get(name))

    @staticmethod
    def names():
        return _completion(_state.names())

    @staticmethod
    def set(name, value):
        _state.set(name, encode(value, f"the value of state `{name}`"))

    @staticmethod
    def clear(name):
        _state.clear(name)

    @staticmethod
    def clear_all():
        _state.clear_all()


class ObjectPromise:
    """A promise of an object, which any function of it, or a client, settles once. It may be settled before anybody waits for
    it, and stays when those that waited have ended. What its methods answer is to be awaited."""

    def __init__(self, name):
        self.name = name

    def wait(self):
        """Its value, when it is settled. Raises the `Failure` with which it was rejected."""
        return _completion(_object_promises.wait(self.name))

    async def peek(self):
        """Its value, if it is settled now, else None. Raises the `Failure` with which it was rejected."""
        told = await _completion(_object_promises.peek(self.name))
        if told is None:
            return None
        if "rejected" in told:
            raise Failure(told["rejected"]["code"], told["rejected"]["message"], told["rejected"]["details"])
        return base64.b64decode(told["resolved_base64"]) if "resolved_base64" in told else told["resolved"]

    def resolve(self, value):
        """Raises a `Failure` 409 if it was settled before."""
        return _completion(_object_promises.settle(self.name, success(value, f"the value of promise `{self.name}`")))

    def reject(self, error):
        return _completion(_object_promises.settle(self.name, failure(error)))


_begun = []


class Saga:
    """Steps that are undone when the whole does not come about. `compensate` names the function that undoes a step; it is
    given `{"input": …, "output": …}`. With `compensate_unknown` a step is undone also if nobody knows whether it acted (the
    output is null then); without it, a person is asked."""

    def __init__(self, name, segno):
        if any(saga.name == name for saga in _begun):
            raise ValueError(f"there is a saga `{name}`: give each its own name")
        self.name, self._segno, self.steps, self.over = name, segno, [], False
        _begun.append(self)

    def call(self, function, value, compensate, compensate_unknown=False, **options):
        """As `Segno.call`, for a step."""
        declared = self._declared(function, compensate, compensate_unknown)
        command = _sagas.call(function, encode(value, f"the input of `{function}`"), _options(**options), declared)
        return self._step(function, value, declared, command)

    def http(self, method, url, compensate, headers=None, body=None, compensate_unknown=False, **options):
        """As `Segno.http`, for a step. With an answer 4xx the server says that it did not act: the step
        is undone with `compensate_unknown` only."""
        name = f"{method} {url}"
        declared = self._declared(name, compensate, compensate_unknown)
        pairs = list((headers or {}).items())
        request = types.HttpRequest(method, url, pairs, _body(body, url))
        command = _sagas.http(request, _options(**options), declared)
        given = {"method": method, "url": url, "headers": pairs, "body": body}
        return self._step(name, given, declared, command, is_http=True)

    async def abort(self, reason):
        """Undoes the steps now, and raises a `Failure` (422) that says what was undone."""
        raise await self._unwind(Failure(422, reason))

    def complete(self):
        """Ends the saga: its steps stay, whatever happens later."""
        self.over = True

    def _declared(self, name, compensate, compensate_unknown):
        if self.over:
            raise ValueError(f"the saga `{self.name}` is over, and `{name}` is a step of it: begin another")
        return _sagas.Step(self.name, len(self.steps), compensate, compensate_unknown)

    def _step(self, name, value, declared, command, is_http=False):
        self.steps.append((name, value, declared, _shielded_completion(command), is_http))
        return _completion(command)

    async def _unwind(self, failure):
        self.over = True
        ended = [await self._end(*step) for step in self.steps]
        undone, rest = [], ""
        for name, value, declared, registered, unknown, output in reversed(ended):
            if unknown and not registered:
                where = f"{self._segno.invocation}/u/{self.name}/{declared.seq}"
                self._segno.log(
                    f"step {declared.seq} of the saga `{self.name}` (`{name}`) is unclear: check whether it acted, then settle `{where}`",
                    types.Level.WARN,
                )
                try:
                    await _shielded_completion(_sagas.ask(declared))
                    registered = True
                except Failure as answer:
                    if answer.code == 499:
                        rest = f", unclear whether `{name}` acted"
                        break
            if not registered:
                continue
            try:
                given = encode({"input": value, "output": output}, f"the input of `{declared.compensate}`")
                await _shielded_completion(_sagas.undo(declared, given, _options()))
            except Failure as error:
                rest = f", `{name}` could not be undone: {error.message}"
                break
            undone.append(f"`{name}`")
        message = f"{failure.message}; saga `{self.name}`: {', '.join(undone) or 'nothing'} undone{rest}"
        return Failure(failure.code, message, failure.details)

    @staticmethod
    async def _end(name, value, declared, ended, is_http):
        try:
            output = await ended
            declined = is_http and 400 <= output["status"] < 500
            return name, value, declared, declared.compensate_unknown or not declined, False, output
        except Failure as failure:
            unknown = failure.code in (408, 499)
            return name, value, declared, unknown and declared.compensate_unknown, unknown, None


class Attempt:
    """What an activity knows about this attempt, and may ask for: the second argument of its function."""

    def __init__(self, context):
        self.invocation = context.invocation
        #: The same for every attempt of one call: pass it on to whatever should act only once.
        self.idempotency_key = context.idempotency_key
        #: Larger for every later claim: a receiver that keeps the largest refuses stale writers.
        self.fence_token = context.fence_token
        self.attempt = context.attempt
        #: What the previous attempt passed to `heartbeat` last.
        self.last_progress = None if context.last_progress is None else decode(context.last_progress)
        self.started_at_ms, self.deadline_ms = context.started_at_ms, context.deadline_ms

    def http(self, method, url, headers=None, body=None):
        """One request, if the host's policy allows its address: an `Answer`. May be awaited. Nothing is repeated here."""
        body = types.Payload_Bytes(body) if isinstance(body, bytes) else _body(body, url)
        request = types.HttpRequest(method, url, list((headers or {}).items()), body)
        return Answer(_refusable(_activity.http, request))

    def heartbeat(self, progress=None):
        """Says that this attempt is alive and how far it got. True: it is asked to end."""
        return _activity.heartbeat(None if progress is None else encode(progress, "the progress"))

    def log(self, message, level=types.Level.INFO):
        _activity.log(level, message)

    def env(self, name):
        """What the operator sets for this module in policy.toml. A `Failure` 403: it is not set."""
        return _refusable(_configuration.env, name)

    def secret(self, name):
        """The same for secrets, which the host keeps out of all that it stores."""
        return _refusable(_configuration.secret, name)

    @property
    def files(self):
        """The directories that policy.toml gives this module."""
        return Files


class Files:
    """The directories that policy.toml gives this module (`dirs`), by absolute path."""

    @staticmethod
    def read(path, offset=0, length=1 << 32):
        """The bytes: all of them, or at most `length` from `offset`."""
        content = bytearray()
        while len(content) < length:
            part = _refusable(_files.read, path, offset + len(content), length - len(content))
            if not part:
                break
            content += part
        return bytes(content)

    @staticmethod
    def write(path, content):
        """Replaces the file as a whole, or makes it. `content` is text or bytes."""
        _refusable(_files.write, path, _bytes(content))

    @staticmethod
    def append(path, content):
        """Adds to the end of the file, or makes it. An attempt that is repeated adds again."""
        _refusable(_files.append, path, _bytes(content))

    @staticmethod
    def list(path):
        """What the directory contains, by name: entries with `name`, `directory` and `size`."""
        return _refusable(_files.list_directory, path)

    @staticmethod
    def remove(path):
        """Removes a file. It is no failure if there is none."""
        _refusable(_files.remove, path)


def _bytes(content):
    return content.encode() if isinstance(content, str) else bytes(content)


def _refusable(call, *arguments):
    """What the host refuses is raised as a `Failure`."""
    try:
        return call(*arguments)
    except Err as error:
        raise Failure(error.value.code, error.value.message) from None


class Answer:
    """What a server answered."""

    def __init__(self, response):
        self.status, self.headers, self.body = response.status, dict(response.headers), bytes(response.body)

    def text(self):
        return self.body.decode()

    def json(self):
        return json.loads(self.body)

    def __await__(self):
        return self
        yield


_functions = {}


def _function(kind):
    def declare(**about):
        def keep(function):
            if kind == types.FunctionKind.WORKFLOW and not inspect.iscoroutinefunction(function):
                raise TypeError(f"the workflow `{function.__name__}` has to be an `async def`")
            name = f"{about['of']}/{function.__name__}" if "of" in about else function.__name__
            _functions[name] = (kind, function, about)
            return function

        return keep

    return declare


#: Decorators: `@workflow(input=SCHEMA, output=SCHEMA, promises={NAME: SCHEMA}, signals={NAME: SCHEMA}, timeout_ms=…,
#: retry=retry(…), limit=limit(…), commit="each", expose="mcp")`, all of it optional; `signals=True` takes any. With `commit="each"`, the host
#: commits the result of each `run`, and the outcome of each call, before the workflow goes on. It asks for it by `Commits`:
#: `from segno import Commits` in the module that is built. `expose="mcp"` offers the function as a tool of assistants, by `Exposures`.
workflow = _function(types.FunctionKind.WORKFLOW)
activity = _function(types.FunctionKind.ACTIVITY)


_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def _bounds(concurrency, rate, burst):
    if rate is None:
        return _limits.Bounds(_count("limit(concurrency)", concurrency), None)
    found = re.fullmatch("([0-9]+)/([0-9]*)(ms|s|m|h|d)", rate)
    if not found:
        raise ValueError(f"`{rate}` is no rate: write it as `10/s` or `5/10s`, with s, m, h or d")
    count, length, unit = found.groups()
    burst = _count("limit(burst)", burst) or int(count)
    rate = _limits.Rate(int(count), int(length or 1) * _UNITS[unit], burst)
    return _limits.Bounds(_count("limit(concurrency)", concurrency), rate)


def limit(
    key=None,
    concurrency=None,
    rate=None,
    burst=None,
    total_concurrency=None,
    total_rate=None,
    total_burst=None,
    priority=None,
    priority_order="strict",
    singleton=None,
    debounce_ms=None,
    debounce_longest_ms=None,
):
    """How many executions of a function may run, and how fast they begin: `limit(key="customer.id", concurrency=5, rate="10/s")`.
    `key` and `priority` are places in the input, `singleton` is `"skip"` or `"replace"`, `priority_order` `"strict"` or `"weighted"`.
    What makes no sense is refused at the upload."""
    if _limits is None:
        raise TypeError("the host asks for limits by `Limits`: `from segno import Limits`")
    return lambda function: _limits.FunctionLimits(
        function,
        key,
        _bounds(concurrency, rate, burst),
        _bounds(total_concurrency, total_rate, total_burst),
        None if priority is None else _limits.Priority(priority, _limits.Order[priority_order.upper()]),
        None if singleton is None else _limits.Singleton[singleton.upper()],
        None
        if debounce_ms is None
        else _limits.Debounce(_millis("limit(debounce_ms)", debounce_ms), _millis("limit(debounce_longest_ms)", debounce_longest_ms)),
    )


def exclusive(of, **about):
    """Decorates a workflow that is a function of the kind of object `of`: `@exclusive("Cart")` above `async def add` is called as
    `Cart@KEY/add`. Of one key one execution at a time runs, in the order of the calls."""
    return workflow(of=of, access=_objects.Access.EXCLUSIVE, **about)


def once(of, **about):
    """As `exclusive`, for a function that runs once a key; all others of its object are shared. The host asks for it by `Runs`:
    `from segno import Runs` in the module that is built."""
    return exclusive(of, once=True, **about)


def shared(of, **about):
    """As `exclusive`, for a function that only reads the state, and waits for nobody."""
    return workflow(of=of, access=_objects.Access.SHARED, **about)


class _Running:
    """The workflow that was started: its name, what it shares, and the updates that are not answered."""

    def __init__(self):
        self.name, self.segno, self.shared, self.unanswered, self.finished = None, None, None, 0, False


_running = _Running()
# Updates come as signals with names that begin so.
_UPDATE = "segno:update/"
_handled = {}


def _handler(kind):
    def declare(of, **about):
        def keep(function):
            if _handlers is None:
                raise TypeError(f"the host asks for `{function.__name__}` by `Handlers`: `from segno import Handlers`")
            if inspect.iscoroutinefunction(function) != (kind == "update"):
                raise TypeError(f"`{function.__name__}`: an update is an `async def`, a query a `def`")
            workflow = of if isinstance(of, str) else of.__name__
            key = (workflow, kind, about.get("name", function.__name__))
            if key in _handled:
                raise ValueError(f"`{workflow}` has two handlers `{key[2]}`")
            _handled[key] = (function, about)
            return function

        return keep

    return declare


#: Decorators: `@query(WORKFLOW, input=SCHEMA, output=SCHEMA)` above `def step(shared, input)`, which is answered at once and
#: changes nothing, and `@update(WORKFLOW, …, validate=FUNCTION)` above `async def add(input, segno, shared)`, which is a part of
#: the workflow and runs beside it. What `validate(shared, input)` raises refuses the update before it is accepted. `name="…"`
#: is another name than that of the function. `shared` is what the workflow shares by `segno.share`.
query = _handler("query")
update = _handler("update")


def _handler_of(kind, name):
    """The handler of the workflow that was started."""
    found = _handled.get((_running.name, kind, name))
    if found is None:
        names = [f"`{one}`" for workflow, of_kind, one in _handled if (workflow, of_kind) == (_running.name, kind)]
        raise Failure(404, f"there is no {kind} `{name}`; there are: {', '.join(names) or 'none'}")
    if _running.shared is None:
        raise Failure(425, "the workflow has not shared anything yet: it calls `segno.share`")
    return found


def _accept(name, payload):
    """Begins an update; its end settles the promise that came with it."""
    try:
        told = decode(payload)
        promise, given = told["promise"], told.get("input")
    except (ValueError, TypeError, KeyError):
        journal.log(types.Level.ERROR, f"update `{name}` names no promise; the sender gets no answer")
        return

    def settle(outcome):
        if not _running.finished:
            journal.forget(journal.settle(promise, outcome))

    try:
        function, _ = _handler_of("update", name)
    except Failure as error:
        settle(failure(error))
        return

    async def whole():
        try:
            settle(success(await function(given, _running.segno, _running.shared), f"the answer of `{name}`"))
        except Failure as error:
            settle(failure(error))
        except Exception as error:
            _defects.append(error)
        _running.unanswered -= 1

    _running.unanswered += 1
    spawn(whole())


def _given(payload):
    """The input of a query or an update, which the host has looked at if there is a schema."""
    try:
        return decode(payload)
    except ValueError as error:
        raise Failure(400, f"the input is no JSON: {error}") from None


class Handlers:
    """What workflows answer while they run, and after: `from segno import Handlers` in the module that is built."""

    def describe_handlers(self):
        def schema(about, which):
            return json.dumps(about[which]) if which in about else None

        return [
            _handlers.HandlerDescription(
                workflow,
                _handlers.HandlerKind[kind.upper()],
                name,
                function.__doc__,
                schema(about, "input"),
                schema(about, "output"),
            )
            for (workflow, kind, name), (function, about) in _handled.items()
        ]

    def query(self, name, input):
        try:
            function, _ = _handler_of("query", name)
            return success(function(_running.shared, _given(input)), f"the answer of `{name}`")
        except Exception as error:
            return failure(error)

    def validate(self, name, input):
        try:
            _, about = _handler_of("update", name)
            if "validate" in about:
                about["validate"](_running.shared, _given(input))
            return None
        except Exception as error:
            return failure(error).value


def _described(name, kind, function, about):
    schema = {which: json.dumps(about[which]) for which in ("input", "output") if which in about}
    return types.FunctionDescription(
        name,
        kind,
        function.__doc__,
        schema.get("input"),
        schema.get("output"),
        # Updates come as signals.
        bool(about.get("signals"))
        or any((workflow, of_kind) == (name, "update") for workflow, of_kind, _ in _handled),
        _millis("timeout_ms", about.get("timeout_ms")),
        about.get("retry"),
    )


class Messages:
    """What may be sent to workflows: `from segno import Messages` in the module that is built."""

    def describe_messages(self):
        return [
            _messages.MessageDescription(function, kind, name, json.dumps(schema))
            for function, (_, _, about) in _functions.items()
            for which, kind in (("promises", _messages.MessageKind.PROMISE), ("signals", _messages.MessageKind.SIGNAL))
            if isinstance(about.get(which), dict)
            for name, schema in about[which].items()
        ]


class Objects:
    """Which workflows are functions of objects: `from segno import Objects` in the module that is built."""

    def describe_objects(self):
        return [
            _objects.ObjectFunction(name, about["access"]) for name, (_, _, about) in _functions.items() if "of" in about
        ]


class Runs:
    """Which functions of objects run once a key: `from segno import Runs` in the module that is built."""

    def describe_runs(self):
        return [name for name, (_, _, about) in _functions.items() if about.get("once")]


class Limits:
    """How many executions of functions may run: `from segno import Limits` in the module that is built."""

    def describe_limits(self):
        return [about["limit"](name) for name, (_, _, about) in _functions.items() if "limit" in about]


class Commits:
    """Which workflows go on only with what is stored: `from segno import Commits` in the module that is built."""

    def describe_commits(self):
        modes = {name: about.get("commit", "gathered") for name, (_, _, about) in _functions.items()}
        for name, mode in modes.items():
            if mode not in ("each", "gathered"):
                raise ValueError(f"`commit` of `{name}` is {mode!r}: write 'each' or 'gathered'")
        return [name for name, mode in modes.items() if mode == "each"]


class Exposures:
    """The protocols by which functions are offered: `from segno import Exposures` in the module that is built."""

    def describe_exposures(self):
        offers = {name: about["expose"] for name, (_, _, about) in _functions.items() if "expose" in about}
        for name, protocol in offers.items():
            if protocol != "mcp":
                raise ValueError(f"`expose` of `{name}` is {protocol!r}: write 'mcp'")
        return [_exposures.Exposure(name, protocol) for name, protocol in offers.items()]


class Functions:
    """The exports of a component: `from segno import Functions` in the module that is built."""

    def describe(self):
        return [_described(name, *function) for name, function in _functions.items()]

    def start(self, function, input, context):
        # The generator's own seed is the same in every execution: it is made when the component is built.
        random.seed(bytes(context.seed))
        _running.name, _running.segno = function, Segno(context)

        async def whole():
            try:
                _, begin, _ = _functions[function]
                value = await begin(decode(input), _running.segno)
                ends = not isinstance(value, _NextGeneration)
                outcome = success(value, f"the result of `{function}`") if ends else value
            except Failure as error:
                for saga in reversed([saga for saga in _begun if not saga.over]):
                    error = await saga._unwind(error)
                outcome = failure(error)
            except Exception as error:
                return _defects.append(error)
            _finish(outcome)

        spawn(whole())
        _returned()

    def resume(self, event):
        _told(event)
        _returned()

    def perform(self, function, input, context):
        random.seed()
        try:
            _, once, _ = _functions[function]
            answer = once(decode(input), Attempt(context))
            if inspect.isawaitable(answer):
                answer = _driven(function, answer)
            return success(answer, f"the result of `{function}`")
        except Exception as error:
            return failure(error)


_defects = []


def _returned():
    """Runs what is ready. A defect ends the call as a panic does: the host tries again, then halts the execution, and
    `segno continue --module` goes on with mended code. A `Failure` is an outcome, which ends the invocation."""
    drain()
    while _look():
        drain()
    for error in _defects:
        at, message = defect(error)
        journal.log(types.Level.ERROR, f"panicked at {at}:\n{message}")
        raise error


def _driven(function, awaitable):
    """The result of an activity that is an `async def`."""

    async def whole():
        return await awaitable

    ended = spawn(whole())
    drain()
    if not ended._settled:
        raise Failure(422, f"`{function}` waits for something that nothing settles")
    if ended._error is not None:
        raise ended._error
    return ended._value
