// The declarations are sound without the types of Node.

import { workflow } from '@segno/sdk';
import { TestHost } from '@segno/sdk/testing';

const order = workflow(async (cents: number, ctx) => (await fetch('https://pay.example.com/')).status + cents + ctx.now());
export const told: Promise<number> = new TestHost().run(order, 1);
