// The two agents: their instructions, and the tools that they have.

/** Something that a model may ask for. */
export interface Tool {
  description: string;
  /** Name and type of each argument. */
  parameters: Record<string, 'string' | 'integer'>;
  /** The function behind it: an activity of another module, or a workflow of this one. */
  target: string;
  /** True if a person has to approve each call. */
  asks?: boolean;
}

export interface Agent {
  instructions: string;
  tools: Record<string, Tool>;
}

export const CLERK: Agent = {
  instructions: 'You answer the customers of a shop. You are brief.',
  tools: {
    order_status: {
      description: 'The state of an order.',
      parameters: { order: 'string' },
      target: 'wasm://tools/order_status',
    },
    refund: {
      description: 'Refunds an order, in part or as a whole.',
      parameters: { order: 'string', cents: 'integer' },
      target: 'wasm://tools/refund',
      asks: true,
    },
    audit: {
      description: 'Checks the latest orders. It takes long.',
      parameters: { orders: 'integer' },
      target: 'wasm://tools/audit',
    },
    research: {
      description: 'Asks a colleague who reads the pages of the shop.',
      parameters: { question: 'string' },
      target: 'research',
    },
  },
};

export const RESEARCHER: Agent = {
  instructions: 'You answer questions from pages that you read.',
  tools: {
    read_page: { description: 'The text of a page.', parameters: { url: 'string' }, target: 'wasm://tools/read_page' },
  },
};

/** The tools, as the model expects them. */
export function described({ tools }: Agent): object[] {
  return Object.entries(tools).map(([name, { description, parameters }]) => {
    const properties = Object.fromEntries(Object.entries(parameters).map(([key, type]) => [key, { type }]));
    const schema = { type: 'object', properties, required: Object.keys(parameters) };
    return { type: 'function', function: { name, description, parameters: schema } };
  });
}
