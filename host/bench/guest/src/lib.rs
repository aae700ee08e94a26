//! The guest of `segno bench`: one function per shape of work, each with minimal work of its own.

use segno::{ActivityContext, Context, Result, State, Timestamp};

/// Number and result size of durable steps.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Steps {
    /// Number of steps, run one after the other.
    pub steps: u32,
    /// Size of each result as JSON, in bytes, quotes included.
    pub result_bytes: u32,
}

/// Width of a fan-out.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Width {
    /// Number of children, all started together.
    pub children: u32,
}

/// Time of a wake-up.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Nap {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
}

/// Steps, followed by waits for promises.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Turns {
    /// Steps before the first wait.
    pub steps: u32,
    /// Number of promises awaited one after the other, named `turn-0`, `turn-1` and so on.
    pub turns: u32,
}

/// A conversation with a model, which each call carries whole.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Conversation {
    /// Number of all messages so far.
    pub messages: u32,
    /// The latest messages.
    pub latest: Vec<String>,
    /// Size of a message, in bytes.
    pub message_bytes: u32,
}

/// Calls of a model.
#[segno::data]
#[derive(Clone, Debug)]
pub struct Talk {
    /// The conversation so far.
    pub conversation: Conversation,
    /// Number of calls to make.
    pub calls: u32,
    /// Number of messages above which the older half is dropped.
    pub messages_max: u32,
    /// Number of calls of a generation.
    pub generation: u32,
}

/// Ends immediately.
#[segno::workflow]
pub async fn noop(_ctx: Context, _input: ()) -> Result<()> {
    Ok(())
}

/// Runs durable steps, one after the other.
#[segno::workflow]
pub async fn steps(ctx: Context, input: Steps) -> Result<u32> {
    for _ in 0..input.steps {
        step(&ctx, input.result_bytes).await?;
    }
    Ok(input.steps)
}

/// Calls activities, all concurrently.
#[segno::workflow]
pub async fn fan(ctx: Context, width: Width) -> Result<u64> {
    let echoes =
        segno::try_join_all((0..width.children).map(|number| ctx.call(leaf, &number))).await?;
    Ok(echoes.into_iter().map(u64::from).sum())
}

/// Calls activities, one after the other.
#[segno::workflow]
pub async fn chain(ctx: Context, width: Width) -> Result<u64> {
    let mut sum = 0;
    for number in 0..width.children {
        sum += u64::from(ctx.call(leaf, &number).await?);
    }
    Ok(sum)
}

/// An activity that returns its input.
#[segno::activity]
pub async fn leaf(_ctx: ActivityContext, number: u32) -> Result<u32> {
    Ok(number)
}

/// Sleeps, and returns the lateness of the wake-up in milliseconds.
#[segno::workflow]
pub async fn nap(ctx: Context, nap: Nap) -> Result<u64> {
    let due = Timestamp::from_millis(nap.until_ms);
    ctx.sleep_until(due).await?;
    Ok(ctx.now().as_millis().saturating_sub(nap.until_ms))
}

/// Runs steps, then awaits promises that a client settles.
#[segno::workflow]
pub async fn turns(ctx: Context, input: Turns) -> Result<u32> {
    for _ in 0..input.steps {
        step(&ctx, 22).await?;
    }
    for turn in 0..input.turns {
        ctx.named_promise::<()>(format!("turn-{turn}")).await?;
    }
    Ok(input.turns)
}

/// Makes host calls that only cross the wasm boundary.
#[segno::workflow]
pub async fn crossings(ctx: Context, count: u32) -> Result<u64> {
    Ok((0..count).fold(0, |sum, _| sum ^ ctx.now().as_millis()))
}

/// Calls a model again and again with the growing conversation, then awaits the promise `go`.
#[segno::workflow]
pub async fn talk(ctx: Context, mut talk: Talk) -> Result<u32> {
    for _ in 0..talk.generation.min(talk.calls) {
        let answer = ctx.call(model, &talk.conversation).await?;
        let conversation = &mut talk.conversation;
        conversation.messages += 1;
        conversation.latest.push(answer);
        if conversation.latest.len() > talk.messages_max as usize {
            conversation.latest.drain(..conversation.latest.len() / 2);
        }
        talk.calls -= 1;
    }
    if talk.calls > 0 {
        return ctx.continue_as_new(&talk);
    }
    ctx.named_promise::<()>("go").await?;
    Ok(talk.conversation.messages)
}

/// An activity that answers a conversation with its next message, in words.
#[segno::activity]
pub async fn model(_ctx: ActivityContext, conversation: Conversation) -> Result<String> {
    let mut state = u64::from(conversation.messages) + 1;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        match (state >> 33) % 32 {
            letter @ 0..26 => char::from(b'a' + letter as u8),
            _ => ' ',
        }
    };
    Ok((0..conversation.message_bytes).map(|_| letter()).collect())
}

async fn step(ctx: &Context, bytes: u32) -> Result<String> {
    let text = bytes.saturating_sub(2) as usize;
    ctx.run("step", move || "x".repeat(text)).await
}

/// A counter per key.
#[segno::object]
pub struct Tally {
    count: State<u64>,
}

#[segno::object]
impl Tally {
    /// Adds `number`, and returns the sum.
    async fn add(&mut self, _ctx: Context, number: u64) -> Result<u64> {
        let count = self.count.get().await?.unwrap_or_default() + number;
        self.count.set(&count)?;
        Ok(count)
    }

    /// Returns the sum.
    #[shared]
    async fn count(&self, _ctx: Context) -> Result<u64> {
        Ok(self.count.get().await?.unwrap_or_default())
    }
}

segno::module!(noop, steps, fan, chain, leaf, nap, turns, crossings, talk, model, Tally);
