//! The two agents: their instructions, and the tools that they have.

use segno::serde_json::{Map, Value, json};

/// Something that a model may ask for.
pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    /// Name and type of each argument.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The function behind it: an activity of another module, or a workflow of this one.
    pub target: &'static str,
    /// True if a person has to approve each call.
    pub asks: bool,
}

pub struct Agent {
    pub instructions: &'static str,
    pub tools: &'static [Tool],
}

/// Answers customers.
pub const CLERK: Agent = Agent {
    instructions: "You answer the customers of a shop. You are brief.",
    tools: &[
        Tool {
            name: "order_status",
            description: "The state of an order.",
            parameters: &[("order", "string")],
            target: "wasm://tools/order_status",
            asks: false,
        },
        Tool {
            name: "refund",
            description: "Refunds an order, in part or as a whole.",
            parameters: &[("order", "string"), ("cents", "integer")],
            target: "wasm://tools/refund",
            asks: true,
        },
        Tool {
            name: "audit",
            description: "Checks the latest orders. It takes long.",
            parameters: &[("orders", "integer")],
            target: "wasm://tools/audit",
            asks: false,
        },
        Tool {
            name: "research",
            description: "Asks a colleague who reads the pages of the shop.",
            parameters: &[("question", "string")],
            target: "research",
            asks: false,
        },
    ],
};

/// Reads pages for the other agent.
pub const RESEARCHER: Agent = Agent {
    instructions: "You answer questions from pages that you read.",
    tools: &[Tool {
        name: "read_page",
        description: "The text of a page.",
        parameters: &[("url", "string")],
        target: "wasm://tools/read_page",
        asks: false,
    }],
};

impl Agent {
    /// The tools, as the model expects them.
    pub fn described(&self) -> Vec<Value> {
        let described = |tool: &Tool| {
            let properties: Map<String, Value> = tool
                .parameters
                .iter()
                .map(|(name, kind)| ((*name).to_owned(), json!({ "type": kind })))
                .collect();
            let required: Vec<&str> = tool.parameters.iter().map(|(name, _)| *name).collect();
            let parameters =
                json!({ "type": "object", "properties": properties, "required": required });
            let (name, description) = (tool.name, tool.description);
            json!({
                "type": "function",
                "function": { "name": name, "description": description, "parameters": parameters },
            })
        };
        self.tools.iter().map(described).collect()
    }
}
