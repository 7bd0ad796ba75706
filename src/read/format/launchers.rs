//! What starts processes, and the variables that programs read.

use super::super::facts::Count;
use super::Rule::{Count as Counts, File, Words};
use super::Said::Link;
use super::{Format, Meaning, Row, Table, key, open};

pub(super) static TORCHRUN: Row =
    Row { format: Format::Torchrun, name: "options of torchrun", signs: &[], needs: None };

pub(super) static TORCHRUN_MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&Table {
        source: "torch 2.9, distributed/run.py, get_args_parser",
        is_of_scripts: false,
        keys: &[
            key(&["nproc_per_node", "nproc_per_gpu"], "1", Counts(Count::PerMachine)),
            key(&["nnodes"], "1", Counts(Count::Machines)),
        ],
        no_matter: "node_rank rdzv_* master_addr master_port standalone max_restarts monitor_interval start_method event_log_handler \
            role module no_python run_path log_dir redirects tee local_ranks_filter local_addr logs_specs use_env",
        not_counted: &[],
    }],
    within: &[],
};

pub(super) static DEEPSPEED: Row =
    Row { format: Format::DeepSpeedLauncher, name: "options of DeepSpeed’s launcher", signs: &[], needs: None };

pub(super) static DEEPSPEED_MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&Table {
        source: "deepspeed 0.19.8, launcher/runner.py, parse_args",
        is_of_scripts: false,
        keys: &[open(&["num_gpus"], Counts(Count::PerMachine)), open(&["num_nodes"], Counts(Count::Machines))],
        no_matter: "hostfile exclude min_elastic_nodes max_elastic_nodes master_port master_addr launcher launcher_args module no_python \
            no_local_rank no_ssh_check force_multi save_pid enable_each_rank_log autotuning elastic_training node_rank ssh_port \
            bind_cores_to_rank bind_core_list include",
        not_counted: &[],
    }],
    within: &[],
};

pub(super) static ENVIRONMENT: Row =
    Row { format: Format::Environment, name: "variables that programs read", signs: &[], needs: None };

pub(in super::super) static ENVIRONMENT_MEANING: Meaning = Meaning {
    always: &[],
    tables: &[&Table {
        source: "torch 2.9, c10/core/AllocatorConfig.h, and the programs that read the others: ms-swift 4.6.0, llamafactory 0.9.5",
        is_of_scripts: false,
        keys: &[
            open(&["CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"], Counts(Count::Visible)),
            open(&["NPROC_PER_NODE", "NGPU"], Counts(Count::PerMachine)),
            open(&["NNODES"], Counts(Count::Machines)),
            open(
                &["PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"],
                File(&[
                    ("expandable_segments:true", Link("segments=expandable")),
                    ("expandable_segments:false", Link("segments=fixed")),
                ]),
            ),
            open(&["FORCE_TORCHRUN"], Words(&[("1", super::Said::Nothing), ("0", super::Said::Nothing)])),
        ],
        no_matter: "",
        not_counted: &[],
    }],
    within: &[],
};
