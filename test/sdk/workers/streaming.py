"""Streaming worker (SDK 0.2 and later): progress messages, a tool span, partial output, usage, then the answer."""
import asyncio
import os

from komodor_agentops import AgentOpsWorker, AgentSpec, observe, record_usage
from komodor_agentops.core.context import current_context
from komodor_agentops.core.observe import record_event

AGENT = AgentSpec(
    agent_id=os.environ.get("AGENTOPS_AGENT_ID", "streamer"),
    agent_card={"name": "Streamer", "version": "1.0.0", "capabilities": {"streaming": True}},
    model="claude-sonnet-4-5",
)
WORDS = ["one", "two", "three", "four", "five", "six"]


@observe(name="think", as_type="chain")
async def think():
    await asyncio.sleep(0.1)


async def on_run(run):
    await run.message("thinking", message_type="progress")
    await think()
    async with run.tool("lookup", {"q": run.input.get("prompt")}) as call:
        await asyncio.sleep(0.1)
        call.result({"hits": 2})
    text = ""
    for word in WORDS:
        text = f"{text} {word}".strip()
        # Partial output is cumulative text in an `output.updated` event.
        record_event(current_context.get().event("output.updated", payload={"text": text}))
        await asyncio.sleep(0.5)
    record_usage({"model": "claude-sonnet-4-5", "input_tokens": 12, "output_tokens": 6}, emit_event=True)
    await run.message(text, message_type="finalizing")
    return {"text": text}


if __name__ == "__main__":
    AgentOpsWorker(agent=AGENT, on_run=on_run).run()
