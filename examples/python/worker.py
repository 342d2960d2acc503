"""A worker of Signalbox with the public Python SDK: pip install komodor-agentops"""
from komodor_agentops import AgentOpsWorker, AgentSpec

spec = AgentSpec(agent_id="demo-python", agent_card={"name": "Demo in Python", "version": "1.0.0"})


async def on_run(run):
    await run.log(f"asked: {run.input.get('prompt')}")
    return {"text": f"Python was asked: {run.input.get('prompt')}"}


AgentOpsWorker(agent=spec, on_run=on_run).run()
