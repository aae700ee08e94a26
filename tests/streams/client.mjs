// The protocol's own client: it follows the stream of an execution to its end, then writes a stream
// of its own and reads it.
import { DurableStream, IdempotentProducer, stream } from "@durable-streams/client"

const [host, execution, count] = process.argv.slice(2)

const followed = await stream({ url: `${host}/v1/stream/${execution}/stream/numbers`, live: true })
const numbers = []
await new Promise((resolve) => {
  followed.subscribeJson(async (batch) => {
    numbers.push(...batch.items)
    if (numbers.length >= Number(count)) resolve()
  })
})
numbers.forEach((number, index) => {
  if (number !== index) throw new Error(`item ${index} is ${number}`)
})

const written = await DurableStream.create({
  url: `${host}/v1/stream/chat/room-1`,
  contentType: "application/json",
})
const producer = new IdempotentProducer(written, "writer-1", { autoClaim: true })
for (let number = 0; number < 500; number++) producer.append(JSON.stringify({ number }))
await producer.flush()
await producer.close()
const read = await stream({ url: `${host}/v1/stream/chat/room-1`, live: false })
const items = await read.json()
if (items.length !== 500 || items.some((item, index) => item.number !== index)) {
  throw new Error(`it reads ${items.length} items`)
}
console.log(`${numbers.length} ${items.length}`)
