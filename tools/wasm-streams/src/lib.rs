//! Stands in for wasm-streams in the build of this page.
//!
//! The `leptos` package brings the client of its server functions along, and that brings wasm-streams,
//! whose streams are exported to JavaScript. What is exported no linker may drop, although a page
//! without a server never streams: 6.7 kB (Brotli) that every reader would wait for. Here is what
//! server_fn 0.8 names of that package, with streams that are empty. Nothing calls it.

use futures_util::stream::{Empty, Stream, empty};
use wasm_bindgen::JsValue;

/// A stream of JavaScript, which is kept as it is.
#[derive(Debug)]
pub struct ReadableStream(web_sys::ReadableStream);

impl ReadableStream {
    /// Takes over a stream of JavaScript.
    pub fn from_raw(raw: web_sys::ReadableStream) -> Self {
        Self(raw)
    }

    /// A stream of JavaScript with nothing in it.
    pub fn from_stream<St>(_: St) -> Self
    where
        St: Stream<Item = Result<JsValue, JsValue>> + 'static,
    {
        Self(wasm_bindgen::JsCast::unchecked_into(JsValue::UNDEFINED))
    }

    /// The stream of JavaScript.
    pub fn into_raw(self) -> web_sys::ReadableStream {
        self.0
    }

    /// Nothing.
    pub fn into_stream(self) -> Empty<Result<JsValue, JsValue>> {
        empty()
    }
}
