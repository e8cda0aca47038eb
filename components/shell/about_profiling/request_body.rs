/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The body of a request, which its page sends in chunks.

use ipc_channel::ipc;
use net_traits::request::{BodyChunkRequest, BodyChunkResponse, RequestBody};

/// Reads a body to its end. Blocks until the page has sent all of it.
///
/// <https://fetch.spec.whatwg.org/#concept-request-transmit-body>
pub fn read(body: &RequestBody, max_length: u64) -> Result<Vec<u8>, String> {
    let stream = body.clone_stream();
    let pages_side = stream
        .lock()
        .clone()
        .ok_or("the body is no longer available")?;
    let (sender, chunks) =
        ipc::channel().map_err(|error| format!("cannot open a channel for the body: {error}"))?;
    let gone = |_| "the page is gone".to_owned();
    pages_side
        .send(BodyChunkRequest::Connect(sender))
        .map_err(gone)?;
    let mut content = Vec::new();
    loop {
        pages_side.send(BodyChunkRequest::Chunk).map_err(gone)?;
        match chunks.recv() {
            Ok(BodyChunkResponse::Chunk(bytes)) => {
                if content.len() as u64 + bytes.len() as u64 > max_length {
                    return Err(format!("the body is longer than {max_length} bytes"));
                }
                content.extend_from_slice(&bytes);
            },
            Ok(BodyChunkResponse::Done) => return Ok(content),
            Ok(BodyChunkResponse::Error) => return Err("the body cannot be read".to_owned()),
            Err(_) => return Err("the page went away before the end of the body".to_owned()),
        }
    }
}
