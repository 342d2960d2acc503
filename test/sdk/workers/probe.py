"""Probe (SDK 0.2 and later): what its handler does is chosen by `mode` in the input. It counts every entry in COUNT_FILE."""
import asyncio
import json
import os

from komodor_agentops import AgentOpsWorker, AgentSpec, observe, record_usage, worker_runtime
from komodor_agentops.core.context import current_context
from komodor_agentops.core.observe import record_event

AGENT = AgentSpec(
    agent_id=os.environ.get("AGENTOPS_AGENT_ID", "probe"),
    agent_card={
        "name": "Probe",
        "description": "Does what its input says",
        "version": os.environ.get("PROBE_VERSION", "1.0.0"),
        "capabilities": {"streaming": True},
    },
    owner="tests@example.test",
    model="claude-sonnet-4-5",
    labels={"team": "tests"},
    input_schema={"type": "object", "properties": {"mode": {"type": "string"}}},
)


def note(variable, *words):
    """Appends one line in one write, so that several processes can share the file."""
    path = os.environ.get(variable)
    if path:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, (" ".join(str(word) for word in words) + "\n").encode())
        finally:
            os.close(handle)


def emit(event_type, **fields):
    record_event(current_context.get().event(event_type, **fields))


def nested(levels):
    value = "bottom"
    for _ in range(levels):
        value = {"in": value}
    return value


def model_call(name, usage):
    span = current_context.get().child_span(name=name, kind="llm")
    record_event(span.event("span.started", payload={"model": usage["model"]}))
    record_event(span.event("span.ended", status="ok", payload={"call_usage": usage}))


def usage_of(input_tokens, output_tokens, **more):
    total = input_tokens + output_tokens
    return {"model": "claude-sonnet-4-5", "input_tokens": input_tokens, "output_tokens": output_tokens, "total_tokens": total, **more}


async def echo(run):
    return {"text": str(run.input.get("prompt", "")), "input": run.input}


async def no_answer(run):
    return None


async def fail(run):
    run.set_diagnostics({"num_turns": 3, "failure": {"category": "worker_runtime", "retryable": False}})
    raise ValueError(str(run.input.get("prompt", "it broke")))


async def spend_and_fail(run):
    record_usage(usage_of(12, 6), emit_event=True)
    raise ValueError("after the model was paid")


async def sleep_for(run):
    try:
        await run.message("asleep")
        await asyncio.sleep(float(run.input.get("seconds", 60)))
    except asyncio.CancelledError:
        note("NOTES_FILE", "interrupted", run.run_id)
        await run.message("cleaning up")
        raise
    return {"text": "woke up"}


async def ticks(run):
    text = ""
    for number in range(int(run.input.get("count", 20))):
        text = f"{text} {number}".strip()
        await run.message(f"tick {number}")
        emit("output.updated", payload={"text": text})
        await asyncio.sleep(0.5)
    return {"text": text}


async def big_output(run):
    return {"text": "big", "blob": "0123456789" * 500_000}


async def big_tool(run):
    async with run.tool("dump", {"size": 5_000_000}) as call:
        call.result({"blob": "0123456789" * 500_000})
    return {"text": "dumped"}


async def long_log(run):
    await run.log("long " * 20_000)
    return {"text": "logged"}


async def separators(run):
    prompt = run.input["prompt"]
    await run.log(f"log {prompt}")
    emit("output.updated", payload={"text": prompt})
    return {"text": prompt, "codes": [ord(character) for character in prompt]}


async def nul(run):
    await run.log("before\0after")
    async with run.tool("nul", {"arg\0name": "a\0b"}) as call:
        call.result({"value": "c\0d"})
    return {"text": "left\0right"}


async def deep(run):
    async with run.tool("dig", {"levels": 80}) as call:
        call.result({"hole": nested(80)})
    return {"text": "dug", "hole": nested(70)}


async def keys(run):
    strange = {"__proto__": {"polluted": True}, "constructor": {"prototype": {"polluted": True}}, "x.999999999.y": 1}
    async with run.tool("keys", strange) as call:
        call.result(strange)
    return {"text": "keys", **strange}


async def numbers(run):
    await run.log("numbers")
    async with run.tool("count", {"exact": 2**53 + 1}) as call:
        call.result({"huge": 10**399})
    return {"text": "counted", "huge": 10**399, "exact": 2**53 + 1, "plain": 2**53 - 1}


@observe(name="plan", as_type="agent")
async def plan(run):
    await think(run)


@observe(name="think", as_type="chain")
async def think(run):
    async with run.tool("lookup", {"q": "life", "n": 42}) as call:
        await asyncio.sleep(0.02)
        call.result({"hits": [1, 2], "answer": "forty-two"})
    model_call("ask", usage_of(60, 40, provider="anthropic"))


async def tree(run):
    await plan(run)
    try:
        async with run.tool("break", {"why": "to see"}):
            raise OSError("the tool broke")
    except OSError:
        pass
    return {"text": "grown"}


async def totals(run):
    outer = current_context.get().child_span(name="turns", kind="agent")
    record_event(outer.event("span.started"))
    token = current_context.set(outer)
    model_call("first", usage_of(50, 10))
    model_call("second", usage_of(30, 10))
    current_context.reset(token)
    record_event(outer.event("span.ended", status="ok", payload={"call_usage": usage_of(80, 20)}))
    return {"text": "added"}


async def usage(run):
    record_usage(usage_of(12, 6, cost_amount=0.01), emit_event=True)
    record_usage(usage_of(30, 10, cost_amount=0.02), emit_event=True)
    return {"text": "spent"}


async def logs(run):
    for level in ("info", "warning", "ERROR"):
        await run.log(f"a line of {level}", level=level)
    return {"text": "logged"}


async def messages(run):
    await run.message("thinking")
    await run.message("a question", role="user", message_type="data")
    await run.message("a draft", message_type="draft")
    await run.message("a notice", role="system")
    await run.message("the answer", message_type="finalizing")
    return {"text": "said"}


async def many(run):
    for number in range(int(run.input.get("count", 300))):
        await run.log(f"line {number}")
    return {"text": "many"}


async def surrogate_log(run):
    await run.log("first batch")
    await asyncio.sleep(2.2)
    await run.log("lost \ud800 batch")
    await asyncio.sleep(2.2)
    await run.log("third batch")
    return {"text": "went on"}


async def surrogate_output(run):
    return {"text": "never arrives \ud800"}


async def environment(run):
    values = {name: value for name, value in os.environ.items() if "://" in value}
    return {"text": "environment", "names": sorted(os.environ), "addresses": values}


async def dump(run):
    return {"text": json.dumps(run.input)}


MODES = {
    "none": no_answer,
    "raise": fail,
    "spend-and-raise": spend_and_fail,
    "sleep": sleep_for,
    "ticks": ticks,
    "big": big_output,
    "big-tool": big_tool,
    "long-log": long_log,
    "separators": separators,
    "nul": nul,
    "deep": deep,
    "keys": keys,
    "numbers": numbers,
    "tree": tree,
    "totals": totals,
    "usage": usage,
    "logs": logs,
    "messages": messages,
    "many": many,
    "surrogate-log": surrogate_log,
    "surrogate-output": surrogate_output,
    "env": environment,
    "dump": dump,
}


async def on_run(run):
    note("COUNT_FILE", run.run_id, getattr(run, "attempt", "-"), os.getpid())
    return await MODES.get(run.input.get("mode"), echo)(run)


if __name__ == "__main__":
    if "PROBE_BEAT_SECONDS" in os.environ:  # the SDK waits 45 s, longer than a test
        worker_runtime.RUN_PRESENCE_BEAT_SECONDS = float(os.environ["PROBE_BEAT_SECONDS"])
    AgentOpsWorker(agent=AGENT, on_run=on_run).run()
