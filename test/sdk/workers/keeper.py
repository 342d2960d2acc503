"""Keeper (SDK 0.3 and later): writes artifacts, remembers its session, and says a secret in every form it can."""
import base64
import json
import os
import urllib.parse
import uuid

from komodor_agentops import AgentOpsWorker, AgentSpec
from komodor_agentops.core.context import current_context
from komodor_agentops.core.observe import record_event

AGENT = AgentSpec(agent_id=os.environ.get("AGENTOPS_AGENT_ID", "keeper"), agent_card={"name": "Keeper", "version": "1.0.0"})


async def write(run):
    first = await run.upload_artifact(name="report.md", content="# Report\n\u2028ünïcode", mime_type="text/markdown")
    second = await run.upload_artifact(name="data.bin", content=base64.b64encode(bytes(range(256))).decode(), mime_type="application/octet-stream;base64")
    return {"text": "written", "ids": [first, second]}


async def remember(run):
    turn = (run.snapshot or {}).get("turn", 0) + 1
    run.set_snapshot({"turn": turn, "said": [*(run.snapshot or {}).get("said", []), run.input.get("prompt")]})
    return {"text": f"turn {turn}", "before": run.snapshot}


def forms(value):
    encoded = base64.b64encode(value.encode()).decode()
    return {
        "plain": f"it is {value}.",
        "base64": encoded,
        "shifted once": base64.b64encode(f"x{value}".encode()).decode(),
        "shifted twice": base64.b64encode(f"xy{value}".encode()).decode(),
        "url": urllib.parse.quote(value, safe=""),
        "json": json.dumps({"key": value}),
        "nested json": json.dumps(json.dumps([value])),
    }


async def leak(run):
    value = os.environ["ON_DEMAND"]
    said = forms(value)
    for text in said.values():
        await run.log(text)
        await run.message(text)
    async with run.tool("leaky", {"args": said, value: "as a key"}) as call:
        call.result({"deep": {"list": [said]}})
    half = len(value) // 2
    await run.log(f"first half {value[:half]}")
    await run.log(f"{value[half:]} second half")
    text = ""
    for part in (value[:half], value[half:], " done"):
        text += part
        record_event(current_context.get().event("output.updated", payload={"text": text}))
    await run.upload_artifact(name=f"{value}.txt", content=json.dumps(said), mime_type="text/plain")
    run.set_diagnostics({"because": said})
    run.set_snapshot({"kept": said})
    if run.input.get("fails"):
        raise RuntimeError(f"refused: {value}")
    return {"text": f"the key is {value}", "forms": said}


async def begin(run):
    client = run._bound()
    run_id = f"run_{uuid.uuid4().hex}"
    for _ in range(2):  # said again, it is the same run
        await client.trigger_agent(run_id, input_payload={"prompt": "nobody asked"}, metadata={"room": "seven"})
    await client.upload_artifact(run_id, name="note.txt", content="by myself", mime_type="text/plain")
    await client.complete(run_id, {"text": "done by itself"})
    return {"text": "begun", "run_id": run_id}


MODES = {"begin": begin, "write": write, "remember": remember, "leak": leak}


async def on_run(run):
    return await MODES[run.input["mode"]](run)


if __name__ == "__main__":
    AgentOpsWorker(agent=AGENT, on_run=on_run).run()
