//! The imports for HTTP responses whose bodies are read in pieces.

use std::collections::BTreeMap;

use super::ActivityState;
use crate::{
    Failure, HttpRequest, OpenedResponse, ResponseBody,
    bindings::segno::workflow::http_bodies::{self, ResponseHead},
};

/// Maximum number of responses that an attempt may have open.
const OPEN_RESPONSES_MAX: usize = 16;

/// The open responses of an attempt, by number. They end with it.
#[derive(Default)]
pub(crate) struct OpenResponses {
    by_number: BTreeMap<u32, PartlyRead>,
    /// Number of responses that were opened so far.
    opened: u32,
}

struct PartlyRead {
    body: Box<dyn ResponseBody>,
    /// Bytes of the last piece that are not read yet.
    rest: Vec<u8>,
}

impl PartlyRead {
    /// At most `limit` of the next bytes. Empty at the end of the body.
    async fn read(&mut self, limit: usize) -> Result<Vec<u8>, Failure> {
        if self.rest.is_empty() {
            self.rest = self.body.next().await?.unwrap_or_default();
        }
        let later = self.rest.split_off(limit.min(self.rest.len()));
        Ok(std::mem::replace(&mut self.rest, later))
    }
}

impl OpenResponses {
    /// Checks that one more response may be opened.
    fn check_room(&self) -> Result<(), Failure> {
        if self.by_number.len() < OPEN_RESPONSES_MAX {
            return Ok(());
        }
        let message = format!(
            "this attempt has {OPEN_RESPONSES_MAX} open responses: read one to its end, or close it, before it opens another"
        );
        Err(Failure { code: 400, message, details: None })
    }

    fn add(&mut self, response: OpenedResponse) -> ResponseHead {
        let OpenedResponse { status, headers, body } = response;
        let number = self.opened;
        self.opened += 1;
        self.by_number.insert(number, PartlyRead { body, rest: Vec::new() });
        ResponseHead { response: number, status, headers }
    }

    /// Reads from a response, which is open until it fails or has no more bytes.
    async fn read(&mut self, number: u32, limit: usize) -> Result<Vec<u8>, Failure> {
        let Some(response) = self.by_number.get_mut(&number) else {
            let message = format!("no response {number} is open: it was read to its end or closed");
            return Err(Failure { code: 404, message, details: None });
        };
        let read = response.read(limit).await;
        if !matches!(&read, Ok(piece) if !piece.is_empty()) {
            self.by_number.remove(&number);
        }
        read
    }
}

impl http_bodies::Host for ActivityState {
    async fn open(
        &mut self,
        request: HttpRequest,
    ) -> wasmtime::Result<Result<ResponseHead, Failure>> {
        self.check_request(&request)?;
        if let Err(full) = self.responses.check_room() {
            return Ok(Err(full));
        }
        self.budget.waited();
        let opened = self.host.http_open(request).await;
        Ok(opened.map(|response| self.responses.add(response)))
    }

    async fn read(
        &mut self,
        response: u32,
        limit: u32,
    ) -> wasmtime::Result<Result<Vec<u8>, Failure>> {
        self.budget.check_time()?;
        if limit == 0 {
            let message =
                format!("0 bytes of response {response} were asked for: ask for 1 or more");
            return Ok(Err(Failure { code: 400, message, details: None }));
        }
        self.budget.waited();
        let limit = self.budget.limits().output_bytes.min(limit as usize).max(1);
        Ok(self.responses.read(response, limit).await)
    }

    async fn close(&mut self, response: u32) -> wasmtime::Result<()> {
        self.responses.by_number.remove(&response);
        Ok(())
    }
}
