//! Texts about memory in the forms that programs have printed them in since PyTorch 1.0, with numbers of our own.

use super::*;

/// Device, then in MiB: capacity, free, in use, others, allocated, unallocated, requested; a dash where nothing is said.
fn of(text: &str) -> String {
    let reading = read(&[Text::pasted(text)]);
    assert_eq!(reading.texts[0].kind, Kind::Memory, "{text}");
    let found = reading.out_of_memory.expect("a text about memory");
    let mib = |bytes: Option<crate::Bytes>| bytes.map_or("-".to_owned(), |bytes| format!("{:.0}", bytes.mib()));
    let device = found.devices.first().map_or("-", |row| row.slug);
    let parts =
        [found.capacity, found.free, found.in_use, found.others, found.allocated, found.unallocated, found.requested];
    format!("{device} {}", parts.map(mib).join(" "))
}

/// A table of `nvidia-smi` as it has been since driver 450.
const SMI: &str = "\
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|=========================================+========================+======================|
|   0  NAME                           On  |   00000000:07:00.0 Off |                    0 |
| N/A   32C    P0             62W /  400W |   USEDMiB /  TOTALMiB |      0%      Default |
|   1  NAME                           On  |   00000000:0F:00.0 Off |                    0 |
| N/A   34C    P0             64W /  400W |       4MiB /  TOTALMiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
|    0   N/A  N/A     4242      C   python                                     USEDMiB |
";

fn smi(name: &str, used: &str, total: &str) -> String {
    SMI.replace("NAME", name).replace("USED", used).replace("TOTAL", total)
}

/// 1 GiB is 1,024 MiB; what is left of a capacity is worked out by hand.
#[test]
fn texts_of_every_version_give_the_device_and_the_parts() {
    for (text, expected) in [
        // PyTorch 1.0 to 1.3: what is cached is what nothing uses.
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 128.00 MiB (GPU 0; 10.76 GiB total capacity; 9.50 GiB already \
          allocated; 100.50 MiB free; 211.50 MiB cached)",
            "rtx-2080-ti 11018 100 - - 9728 212 128",
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 15.77 GiB total capacity; 12.00 GiB already allocated; \
          1.50 GiB free; 1.00 GiB cached)",
            "v100-16 16148 1536 - - 12288 1024 2048",
        ),
        // 1.4 to 2.0: what is reserved is all that the allocator holds; 20.50 GiB less 20.00 GiB are gaps.
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 23.69 GiB total capacity; 20.00 GiB already allocated; \
          1.25 GiB free; 20.50 GiB reserved in total by PyTorch)",
            "rtx-4090 24259 1280 - - 20480 512 2048",
        ),
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 5.79 GiB total capacity; 4.00 GiB already allocated; \
          12.00 MiB free; 4.25 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory try setting \
          max_split_size_mb to avoid fragmentation.",
            "rtx-2060 5929 12 - - 4096 256 20",
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1024.00 MiB (GPU 0; 14.76 GiB total capacity; 12.50 GiB \
          already allocated; 512.00 MiB free; 13.50 GiB reserved in total by PyTorch)",
            "t4 15114 512 - - 12800 1024 1024",
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 896.00 MiB (GPU 3; 79.15 GiB total capacity; 76.00 GiB \
          already allocated; 256.00 MiB free; 77.00 GiB reserved in total by PyTorch)",
            "a100-80 81050 256 - - 77824 1024 896",
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 172.00 MiB (GPU 0; 39.39 GiB total capacity; 36.00 GiB \
          already allocated; 104.00 MiB free; 37.50 GiB reserved in total by PyTorch)",
            "a100-40 40335 104 - - 36864 1536 172",
        ),
        // 2.1 misspelt capacity.
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 86.00 MiB. GPU 0 has a total capacty of 23.65 GiB of \
          which 48.00 MiB is free. Including non-PyTorch memory, this process has 23.00 GiB memory in use. Of the allocated memory \
          21.00 GiB is allocated by PyTorch, and 1.50 GiB is reserved by PyTorch but unallocated.",
            "rtx-4090 24218 48 23552 618 21504 1536 86",
        ),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 5 has a total capacty of 79.11 GiB of which \
          512.00 MiB is free. Process 1234 has 78.50 GiB memory in use. Of the allocated memory 70.00 GiB is allocated by PyTorch, and \
          5.00 GiB is reserved by PyTorch but unallocated.",
            "a100-80 81009 512 80384 - 71680 5120 1024",
        ),
        // 2.2 and later.
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.58 GiB. GPU 0 has a total capacity of 79.21 GiB of which \
          4.00 GiB is free. Process 11 has 10.00 GiB memory in use. Including non-PyTorch memory, this process has 65.00 GiB memory in \
          use. Of the allocated memory 60.00 GiB is allocated by PyTorch, and 3.00 GiB is reserved by PyTorch but unallocated. If \
          reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid \
          fragmentation.",
            "h100-80 81111 4096 66560 10240 61440 3072 7762",
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 256.00 MiB. GPU 2 has a total capacity of 139.72 GiB of which \
          128.00 MiB is free. Process 7 has 2.00 GiB memory in use. Process 8 has 3.00 GiB memory in use. Including non-PyTorch memory, \
          this process has 134.00 GiB memory in use. Of the allocated memory 120.00 GiB is allocated by PyTorch, with 1.00 GiB allocated \
          in private pools (e.g., CUDA Graphs), and 8.00 GiB is reserved by PyTorch but unallocated.",
            "h200 143073 128 137216 5120 122880 8192 256",
        ),
        (
            "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 178.35 GiB of \
          which 1.00 GiB is free. Including non-PyTorch memory, this process has 177.00 GiB memory in use. Of the allocated memory \
          150.00 GiB is allocated by PyTorch, and 20.00 GiB is reserved by PyTorch but unallocated.",
            "b200 182630 1024 181248 358 153600 20480 2048",
        ),
        // A terminal breaks lines.
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate\n 64.00 MiB. GPU 0 has a total capacity of 31.37 GiB of which\n \
          32.00 MiB is free. Including non-PyTorch memory, this process has 31.00\nGiB memory in use. Of the allocated memory 29.00 GiB is \
          allocated by PyTorch,\nand 1.00 GiB is reserved by PyTorch but unallocated.",
            "rtx-5090 32123 32 31744 347 29696 1024 64",
        ),
        // AMD.
        (
            "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 320.00 MiB. GPU 0 has a total capacity of 191.98 GiB of which \
          1.00 GiB is free. Of the allocated memory 180.00 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.",
            "mi300x 196588 1024 - - 184320 2048 320",
        ),
        (
            "torch.cuda.OutOfMemoryError: HIP out of memory. Tried to allocate 1.00 GiB (GPU 0; 63.98 GiB total capacity; 60.00 GiB already \
          allocated; 2.00 GiB free; 61.00 GiB reserved in total by PyTorch)",
            "mi250x 65516 2048 - - 61440 1024 1024",
        ),
        // Intel’s devices are not counted, and none stands for them.
        (
            "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 15.91 GiB. Of the \
          allocated memory 12.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.",
            "- 16292 - - - 12288 1024 4096",
        ),
        // Texts without a number.
        (
            "RuntimeError: CUDA error: out of memory\nCUDA kernel errors might be asynchronously reported",
            "- - - - - - - -",
        ),
        // Of two errors in a log the first one counts.
        (
            "CUDA out of memory. Tried to allocate 16.00 MiB. GPU 0 has a total capacity of 47.40 GiB of which 8.00 MiB is free. \
          CUDA out of memory. Tried to allocate 99.00 MiB. GPU 1 has a total capacity of 23.65 GiB",
            "rtx-6000-ada 48538 8 - - - - 16",
        ),
    ] {
        assert_eq!(of(text), expected, "{text}");
    }
    for (text, expected) in [
        (smi("NVIDIA A100-SXM4-80GB", "78000", "81920"), "a100-80 81920 3920 78000 - - - -"),
        (smi("NVIDIA H100 80GB HBM3", "512", "81559"), "h100-80 81559 81047 512 - - - -"),
        (smi("NVIDIA GeForce RTX 3090", "24000", "24576"), "rtx-3090 24576 576 24000 - - - -"),
        (smi("Tesla V100-SXM2...", "100", "16160"), "v100-16 16160 16060 100 - - - -"),
    ] {
        assert_eq!(of(&text), expected, "{text}");
        assert_eq!(read(&[Text::pasted(&text)]).inputs.get("gpus"), Some("2"));
    }
}

#[test]
fn the_summary_of_the_allocator_gives_what_lives_and_what_it_holds() {
    let text = "\
|===========================================================================|
|                  PyTorch CUDA memory summary, device ID 2                 |
|---------------------------------------------------------------------------|
|            CUDA OOMs: 1            |        cudaMalloc retries: 2         |
|===========================================================================|
|        Metric         | Cur Usage  | Peak Usage | Tot Alloc  | Tot Freed  |
|---------------------------------------------------------------------------|
| Allocated memory      |  20480 MiB |  22016 MiB |    910 GiB |    890 GiB |
|       from large pool |  20470 MiB |  22000 MiB |    900 GiB |    880 GiB |
|---------------------------------------------------------------------------|
| GPU reserved memory   |  21504 MiB |  23040 MiB |  23040 MiB |   1536 MiB |
";
    let found = read(&[Text::pasted(text)]).out_of_memory.expect("a summary");
    let mib = |bytes: Option<crate::Bytes>| bytes.map(|bytes| bytes.mib());
    assert_eq!((found.report, found.gpu), (Report::Summary, Some(2)));
    assert_eq!((mib(found.allocated), mib(found.unallocated)), (Some(20_480.0), Some(1_024.0)));
    assert_eq!((mib(found.peak_allocated), mib(found.peak_reserved)), (Some(22_016.0), Some(23_040.0)));
}

#[test]
fn an_error_beside_a_file_says_the_gpu_of_the_run() {
    let error = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.";
    let texts = [
        Text::file("run.yaml", b"base_model: Qwen/Qwen3-8B\nsequence_len: 2048\nmicro_batch_size: 4\n"),
        Text::file("log.txt", error.as_bytes()),
    ];
    let reading = read(&texts);
    assert_eq!(reading.decoded.scenario.device.origin, "a100-80");
    assert_eq!(reading.open(), ["gpus"]);
    assert_eq!(reading.decoded.notices, []);
}

/// An error of a run on one card, with the size that was asked for.
fn error_of(asked: &str) -> String {
    format!(
        "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    trainer.train()\n\
         torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {asked}. GPU 0 has a total capacity of 23.64 GiB of which \
         1.02 GiB is free. Including non-PyTorch memory, this process has 22.61 GiB memory in use. Of the allocated memory \
         20.15 GiB is allocated by PyTorch, and 2.01 GiB is reserved by PyTorch but unallocated.\n"
    )
}

#[test]
fn a_command_with_its_log_and_its_error_is_read_as_a_configuration_and_an_error() {
    // 4 · 4,096 · 151,936 · 4 bytes are 9.27 GiB.
    let text = "accelerate launch train.py --model_name_or_path Qwen/Qwen3-8B --max_length 4096 --per_device_train_batch_size 4\n  \
                0%|          | 0/100 [00:00<?, ?it/s]\n"
        .to_owned()
        + &error_of("9.27 GiB");
    let texts = [Text::pasted(&text)];
    assert_says(&texts, "s=4096&b=4&gpu=rtx-4090");
    let reading = read(&texts);
    assert_eq!(reading.decoded.scenario.model.origin.slug(), Some("qwen3-8b"));
    let error = reading.out_of_memory.expect("an error");
    assert_eq!(
        error.explained(&reading.decoded.scenario),
        [
            // 9.27 less 1.02 and 2.01.
            "The run needs at least 6.24 GiB more than this GPU has, even if nothing lay in gaps and no other process ran.",
            "At this configuration 9.27 GiB are 16,384 tokens × 151,936 words × 4 bytes: the logits.",
        ]
    );
}

#[test]
fn a_post_with_blocks_is_read_block_by_block_and_its_lines_keep_their_numbers() {
    let post = format!(
        "I get this:\n```\n{}```\nMy file:\n```yaml\nbase_model: Qwen/Qwen3-8B\nadapter: lora\nsequence_len: 4096\n\
         micro_batch_size: 4\n```\nWhat can I do?\n",
        error_of("9.27 GiB")
    );
    let told = told_of(&post);
    // Lines 3 to 6 are the error, and the first of the file is line 10.
    assert!(told.contains(&"12 used sequence_len: s=4096".to_owned()), "{told:?}");
    assert!(read(&[Text::pasted(&post)]).out_of_memory.is_some());
    let model = "Mine is\n```json\n{\"model_type\": \"llama\", \"hidden_size\": 2048, \"num_hidden_layers\": 22, \
                 \"num_attention_heads\": 32, \"intermediate_size\": 5632, \"vocab_size\": 32000}\n```\n";
    assert!(matches!(read(&[Text::pasted(model)]).model, Model::File(_)));
    for nothing in ["```\n```", "```yaml\n\n```\n"] {
        assert_eq!(read(&[Text::pasted(nothing)]).texts[0].kind, Kind::Unread(Unread::Empty), "{nothing}");
    }
}

#[test]
fn gaps_other_processes_and_what_is_missing_are_told_apart() {
    let of = |asked: &str, free: &str, gaps: &str, others: &str| {
        let text = format!(
            "CUDA out of memory. Tried to allocate {asked} GiB. GPU 0 has a total capacity of 23.64 GiB of which {free} GiB is free. \
             Process 17 has {others} GiB memory in use. Including non-PyTorch memory, this process has 10.00 GiB memory in use. Of \
             the allocated memory 5.00 GiB is allocated by PyTorch, and {gaps} GiB is reserved by PyTorch but unallocated."
        );
        let cause = read(&[Text::pasted(&text)]).out_of_memory.expect("an error").cause().expect("with its sizes");
        let gib = |bytes: crate::Bytes| format!("{:.2}", bytes.gib());
        match cause {
            Cause::Gaps(bytes) => ["gaps".to_owned(), gib(bytes)],
            Cause::Others(bytes) => ["others".to_owned(), gib(bytes)],
            Cause::Short(bytes) => ["short".to_owned(), gib(bytes)],
        }
    };
    assert_eq!(of("2.00", "0.50", "4.75", "1.00"), ["gaps", "4.75"]);
    assert_eq!(of("2.00", "0.50", "1.00", "12.00"), ["others", "12.00"]);
    // Both would do: the larger one is named.
    assert_eq!(of("2.00", "0.50", "3.00", "9.00"), ["others", "9.00"]);
    assert_eq!(of("8.00", "0.50", "1.00", "2.00"), ["short", "4.50"]);
}
