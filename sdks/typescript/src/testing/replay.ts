// Replays workflows from their journals and compares the commands, as a host does after a crash.

import { Invocation, type RunFacts } from './invocation.js';
import { type JournalRecord, described } from './journal.js';

/** A workflow did something else when it was replayed. */
export class ReplayDivergence extends Error {
  /** The file and line of the author that asked for the command in the replay. */
  readonly at: string | undefined;

  constructor(run: RunFacts, seq: number, before: [JournalRecord | undefined, string | undefined], now: [JournalRecord | undefined, string | undefined], crash: number) {
    const placed = ([record, site]: [JournalRecord | undefined, string | undefined]) => `${described(record)}${site === undefined ? '' : ` (${site})`}`;
    super(
      `\`${run.name}\` (${run.facts.invocation}) does not replay: after a crash at event ${crash}, record ${seq} is ${placed(now)}, and in the first run it was ${placed(before)}. ` +
        'A workflow has to do the same whenever it is replayed: it may depend only on its input, its context and the globals of the language, not on variables outside of it, on Node or on the network',
    );
    this.name = 'ReplayDivergence';
    this.at = now[1] ?? before[1];
  }
}

/** The number of deliveries that the replays of one workflow may take. */
const COST_LIMIT = 10_000;

/** Replays every prefix of the journal: a crash at every await. Throws at the first difference. */
export async function checkReplays(invocation: Invocation): Promise<number> {
  const events = invocation.told.length;
  const step = Math.max(1, Math.ceil((events * events) / 2 / COST_LIMIT));
  let replays = 0;
  for (let crash = 0; crash < events; crash += step, replays += 1) await replay(invocation, crash);
  await replay(invocation, events);
  return replays + 1;
}

async function replay(before: Invocation, crash: number): Promise<void> {
  const again = new Invocation(before.run, true, () => {});
  let compared = 0;
  const compare = (until: number): void => {
    const { records } = again.recorder;
    const length = Math.max(until, records.length);
    for (let seq = compared; seq < length; seq += 1) {
      const [recorded, asked] = [before.recorder.records[seq], records[seq]];
      if (seq < until && JSON.stringify(recorded) === JSON.stringify(asked)) continue;
      throw new ReplayDivergence(before.run, seq, [recorded, before.recorder.site(seq)], [asked, again.recorder.site(seq)], crash);
    }
    compared = length;
  };
  const end = (event: number): number => before.told[event]?.place ?? before.recorder.records.length;
  await again.start();
  compare(end(0));
  for (let event = 0; event < crash; event += 1) {
    const { atMs, event: told } = before.told[event]!;
    await again.tell(atMs, told);
    compare(end(event + 1));
  }
}
