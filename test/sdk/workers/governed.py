"""Governed (SDK 0.4): does what rules allow, and answers its tools from a recording where its input asks for that."""
import os

from komodor_agentops import AgentOpsWorker, AgentSpec
from komodor_agentops.actions.build import build_action_gate

AGENT = AgentSpec(
    agent_id=os.environ.get("AGENTOPS_AGENT_ID", "governed"),
    agent_card={"name": "Governed", "version": "1.0.0", "capabilities": {"replay": ["call_tool"]}},
    owner="tests@example.test",
)


def note(*words):
    """Appends one line in one write, so that several processes can share the file."""
    handle = os.open(os.environ["NOTES_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, (" ".join(str(word) for word in words) + "\n").encode())
    finally:
        os.close(handle)


async def delete(run):
    gate = build_action_gate(run)
    if gate is None:
        return {"text": "nobody asks"}
    call = {"tool_name": "Shell", "arguments": {"command": "rm -r /srv/old"}}
    decision = gate.decide(**call)
    if decision.needs_approval:
        decision = await gate.resolve(rule=decision.rule, tool_use_id="toolu_1", asked_by="Governed", **call)
    if decision.allowed:
        note("deleted", run.run_id)
    return {"text": "deleted" if decision.allowed else "refused", "reason": decision.reason}


async def look(run):
    answers = iter(["first", "second"])

    async def lookup(arguments):
        note("looked", run.run_id)
        return {"hits": [arguments["q"]], "answer": next(answers)}

    async def weather(arguments):
        note("looked", run.run_id)
        return "rain"

    return {
        "first": await run.call_tool("lookup", {"q": "life"}, lookup),
        "second": await run.call_tool("lookup", {"q": "life"}, lookup),
        "weather": await run.call_tool("weather", {"city": run.input.get("city", "Oslo")}, weather),
    }


async def on_run(run):
    return await {"delete": delete, "look": look}[run.input["mode"]](run)


if __name__ == "__main__":
    AgentOpsWorker(agent=AGENT, on_run=on_run).run()
