"""Worker of SDK 0.1 that serves A2A at its own address: answers with what it was given."""
import asyncio
import os

from komodor_agentops import AgentOpsWorker, AgentSpec, get_secret, result_task

AGENT = AgentSpec(
    agent_id=os.environ.get("AGENTOPS_AGENT_ID", "dialled"),
    agent_card={"name": "Dialled", "description": "Says what it was given", "version": "1.0.0"},
)


async def handle(message):
    given = next((part.data for part in message.parts if part.kind == "data"), {})
    if given.get("fail"):
        raise RuntimeError("as it was told")
    await asyncio.sleep(float(given.get("seconds", 0)))
    seen = {"input": given, "metadata": sorted(message.metadata), "secret": get_secret("PARTNER_KEY")}
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    return result_task(task_id=message.task_id, structured=seen, descriptive="done", metadata={"usage": usage})


if __name__ == "__main__":
    worker = AgentOpsWorker(agent=AGENT, handler=handle)
    asyncio.run(worker.serve(host="127.0.0.1", port=int(os.environ["AGENTOPS_WORKER_PORT"])))
