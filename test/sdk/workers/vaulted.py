"""Tells what it was given (SDK 0.2 and later): the secrets of the job, and what of them, and of the boot, is in the environment."""
import os

from komodor_agentops import AgentOpsWorker, AgentSpec

AGENT = AgentSpec(
    agent_id=os.environ.get("AGENTOPS_AGENT_ID", "secrets"),
    agent_card={"name": "Secrets", "description": "Shows what it holds, letter by letter", "version": "1.0.0"},
)


def spelled(value):
    """Masking finds values, so they are told as numbers."""
    if isinstance(value, dict):
        return {name: spelled(part) for name, part in value.items()}
    return [ord(letter) + 1000 for letter in value]


async def on_run(run):
    names = ("ON_DEMAND", "plain", "DB_CREDS__USER", "DB_CREDS__PASS", "AGENTOPS_MCP_TOKEN")
    environment = {name: spelled(os.environ[name]) for name in names if name in os.environ}
    return {"secrets": spelled(dict(getattr(run, "secrets", None) or {})), "environment": environment}


if __name__ == "__main__":
    AgentOpsWorker(agent=AGENT, on_run=on_run).run()
