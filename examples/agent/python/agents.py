"""The two agents: their instructions, and the tools that they have."""

from dataclasses import dataclass
from typing import Any


@dataclass
class Tool:
    """Something that a model may ask for."""

    description: str
    parameters: dict[str, str]
    """Name and type of each argument."""
    target: str
    """The function behind it: an activity of another module, or a workflow of this one."""
    asks: bool = False
    """True if a person has to approve each call."""


@dataclass
class Agent:
    instructions: str
    tools: dict[str, Tool]

    def described(self) -> list[Any]:
        """The tools, as the model expects them."""
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": tool.description,
                    "parameters": schema(tool),
                },
            }
            for name, tool in self.tools.items()
        ]


def schema(tool: Tool) -> dict[str, Any]:
    properties = {name: {"type": type} for name, type in tool.parameters.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


CLERK = Agent(
    "You answer the customers of a shop. You are brief.",
    {
        "order_status": Tool(
            "The state of an order.", {"order": "string"}, "wasm://tools/order_status"
        ),
        "refund": Tool(
            "Refunds an order, in part or as a whole.",
            {"order": "string", "cents": "integer"},
            "wasm://tools/refund",
            asks=True,
        ),
        "audit": Tool(
            "Checks the latest orders. It takes long.", {"orders": "integer"}, "wasm://tools/audit"
        ),
        "research": Tool(
            "Asks a colleague who reads the pages of the shop.", {"question": "string"}, "research"
        ),
    },
)

RESEARCHER = Agent(
    "You answer questions from pages that you read.",
    {"read_page": Tool("The text of a page.", {"url": "string"}, "wasm://tools/read_page")},
)
