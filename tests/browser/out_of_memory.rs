//! The page on the error text: what it means, at the configuration of the page.

use crate::support::Page;

/// One card whose gaps are as large as what was asked for.
const GAPS: &str = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of \
                    which 0.50 GiB is free. Including non-PyTorch memory, this process has 23.13 GiB memory in use. Of the allocated \
                    memory 18.00 GiB is allocated by PyTorch, and 4.75 GiB is reserved by PyTorch but unallocated.";

#[tokio::test]
async fn an_error_text_is_explained_at_the_configuration_of_the_page() {
    let page = Page::open("out-of-memory/?v=4&model=llama-3.1-8b&gpu=rtx-4090&gpus=1&adapter=qlora&s=8192&b=1").await;
    let figure = page.figure("out-of-memory");
    figure.says("the logits").await;
    figure.enter("The text of the error", GAPS).await;
    figure.says("PyTorch holds 4.75 GiB that no tensor uses").await;
    figure.says("PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True").await;
    figure.says("Gaps of the allocator 4.75 GiB").await;
    // 8,192 · 128,256 · 4 bytes are 3.91 GiB.
    figure.enter("The text of the error", &GAPS.replace("2.00 GiB. GPU", "3.91 GiB. GPU")).await;
    figure.says("8,192 tokens × 128,256 words × 4 bytes: the logits").await;
    figure.enter("The text of the error", "Dear all, the meeting is at four.").await;
    figure.says("No error of PyTorch about memory is in this text.").await;
    page.close().await;
}
