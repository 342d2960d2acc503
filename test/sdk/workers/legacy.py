"""Worker of SDK 0.1: a handler of messages. Its input's `mode` says what it does: echo, fail, failtask, slow, both."""
import asyncio
import os

from komodor_agentops import AgentOpsWorker, AgentSpec, get_client, result_task

AGENT = AgentSpec(agent_id=os.environ["AGENTOPS_AGENT_ID"], agent_card={"name": "Legacy", "version": "0.0.1"})


async def handler(message):
    data = {}
    for part in message.parts:
        if part.kind == "data" and part.data:
            data.update(part.data)
    task_id = message.task_id or message.message_id or ""
    mode = data.get("mode", "echo")
    if mode == "fail":
        raise RuntimeError("boom")
    if mode == "failtask":
        return result_task(task_id=task_id, state="failed", descriptive="handled failure")
    if mode == "slow":
        await asyncio.sleep(float(data.get("seconds", 60)))
    if mode == "both":  # one batch of what belongs to two runs and to none
        for run_id in (None, data["other"], "unknown"):
            await get_client().log("told of both", run_id=run_id)
        await get_client().flush()
        await asyncio.sleep(float(data.get("seconds", 0)))
    await get_client().message(f"did {mode}")
    return result_task(task_id=task_id, structured={"mode": mode}, descriptive=str(data.get("prompt", "")))


if __name__ == "__main__":
    host, port = os.environ["AGENTOPS_WORKER_HOST"], int(os.environ["AGENTOPS_WORKER_PORT"])
    asyncio.run(AgentOpsWorker(agent=AGENT, handler=handler).serve(host=host, port=port))
