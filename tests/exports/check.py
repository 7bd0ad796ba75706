"""Hands every export to the program it is for.

    check.py BMAX OLD_TORCHTITAN AXOLOTL LLAMA_FACTORY     (tools/exports.sh calls it)

BMAX is the command line. The others are folders with torchtitan 0.2.2, and with axolotl and LLaMA-Factory and
the versions of transformers that they ask for. For each scenario of
scenarios.json every file is written and read by its consumer's own parser: arguments are constructed,
plugins and trainers are built, and what they then hold is compared with the numbers of the JSON export.
Those of the scenarios under "recorded" lie in files/ as well. handed_over.json is what was checked, with which
versions, and the digest of every export; a test (record.rs) makes RESULT.md of it and of what is written now.
"""

import argparse
import contextlib
import datetime
import hashlib
import importlib.metadata
import io
import json
import os
import pathlib
import platform
import re
import shlex
import subprocess
import sys
import tempfile
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
PAGE = "https://example.org/bmax/"
TARGETS = [
    "transformers", "accelerate", "deepspeed", "torchtitan", "megatron", "lightning", "trl", "peft", "axolotl",
    "llama-factory", "measure", "markdown", "json", "bibtex",
]
# Those whose head tells of a micro-batch.
TOLD = TARGETS[:10]


def without_query(text):
    """The text without what stands behind a version of links, as in record.rs."""
    first, *parts = text.split("v=")
    for part in parts:
        is_query = re.match("[0-9]", part) and first.endswith(("?", '"'))
        query = re.match(r"[^\s\"'(){}<>\\]*", part).group()
        first += "v=" + (part[len(query):] if is_query else part)
    return first


def written(bmax, target, question):
    command = [bmax, "--export", target, "--page", PAGE, f"v=3&{question.lstrip('?')}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def told(text):
    """Micro-batch, data-parallel GPUs and steps, as the head of a file states them in words."""
    plain = re.sub(r'["#,]', "", text.replace(",\n", "\n"))
    plain = re.sub(r"\s+", " ", plain)
    found = re.search(r"Micro-batch (\d+) × (\d+) data-parallel GPUs? × (\d+) accumulation steps? = (\d+) (?:sequence|pair|completion)s?", plain)
    assert found, plain[:600]
    micro, data, steps, whole = map(int, found.groups())
    assert micro * data * steps == whole
    return {"micro": micro, "data": data, "steps": steps, "global": whole}


@contextlib.contextmanager
def environment(**values):
    """Some variables, and afterwards none that were not there before."""
    before = dict(os.environ)
    os.environ.update({name: str(value) for name, value in values.items()})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def pretended_gpus(count):
    """Makes the libraries believe in GPUs, as their own tests do: nothing is allocated on them."""
    import lightning.fabric.accelerators.cuda as fabric
    import lightning.pytorch.accelerators.cuda as pytorch
    import torch

    wanted = [(fabric, "num_cuda_devices", lambda: count), (pytorch, "num_cuda_devices", lambda: count)]
    wanted += [(torch.cuda, "device_count", lambda: count), (torch.cuda, "is_bf16_supported", lambda *_, **__: True)]
    before = [(module, name, getattr(module, name)) for module, name, _ in wanted]
    for module, name, stand_in in wanted:
        setattr(module, name, stand_in)
    try:
        yield
    finally:
        for module, name, own in before:
            setattr(module, name, own)


# --- One check a consumer ---------------------------------------------------------------------------


def transformers(text, said):
    import transformers.training_args as module
    from accelerate.state import AcceleratorState, PartialState

    # Bare metal of this machine has no GPU; whether bf16 works on one is not what is checked.
    module.is_torch_bf16_gpu_available = lambda: True
    for state in (AcceleratorState, PartialState):
        state._reset_state()
    scope = {}
    with environment(), warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        exec(compile(text, "training_arguments.py", "exec"), scope)
        segments_grow(text)
        args = scope["training_args"]
    assert args.per_device_train_batch_size == said["micro"]
    assert args.gradient_accumulation_steps == said["steps"]
    if args.deepspeed:
        # What "auto" stands for is filled in by the Trainer; the sizes must be what they are.
        config = args.hf_deepspeed_config.config
        assert config["train_batch_size"] == said["global"]
        deepspeed_config(json.loads(json.dumps(args.deepspeed).replace('"auto"', "0.0001")), said)
    if args.fsdp:
        assert args.fsdp_plugin_args["fsdp_version"] == 2
    if args.parallelism_config is not None:
        size = args.parallelism_config.total_size
        assert size % said["data"] == 0
    import inspect
    from transformers import AutoModelForCausalLM

    assert set(scope["model_kwargs"]) <= {"dtype", "attn_implementation", "quantization_config"}
    assert inspect.isfunction(AutoModelForCausalLM.from_config.__func__)
    if "optimizer_cls_and_kwargs" in scope:
        import torch

        assert "optimizer_cls_and_kwargs" in inspect.signature(transformers_trainer().__init__).parameters
        kind, options = scope["optimizer_cls_and_kwargs"]
        kind([torch.nn.Parameter(torch.zeros(2, 2))], **options)
    adapted = re.search(r"# For peft\.(get_peft_model)\((?:model, peft_config)(?:, (\w+)=\w+)?\)", text)
    if adapted:
        import peft

        known = inspect.signature(getattr(peft, adapted[1])).parameters
        assert adapted[2] is None or adapted[2] in known, adapted[2]
        assert isinstance(scope["peft_config"], peft.LoraConfig)
    cast = re.search(r"peft\.(prepare_model_for_kbit_training)\(model, (\w+)=False\)", text)
    if cast:
        import peft

        assert cast[2] in inspect.signature(getattr(peft, cast[1])).parameters, cast[2]
    quantized = scope["model_kwargs"].get("quantization_config")
    if quantized is not None and quantized.load_in_4bit:
        assert str(quantized.bnb_4bit_compute_dtype) == "torch." + scope["model_kwargs"]["dtype"]
        assert str(quantized.bnb_4bit_quant_storage) == "torch." + scope["model_kwargs"]["dtype"]
    return "TrainingArguments constructed"


def segments_grow(text):
    """Where a file speaks of the allocator it has to come before PyTorch, and what it sets has to be there."""
    if "PYTORCH_ALLOC_CONF" in text:
        assert os.environ["PYTORCH_ALLOC_CONF"] == "expandable_segments:True"
        assert text.index("PYTORCH_ALLOC_CONF") < min(found.start() for found in re.finditer(r"^(from|import) (?!os)", text, re.M))


def transformers_trainer():
    from transformers import Trainer

    return Trainer


def accelerate(text, said):
    import yaml
    from accelerate.commands.config.config_args import load_config_from_file
    from accelerate.commands.launch import _validate_launch_command, launch_command_parser
    from accelerate.utils import FullyShardedDataParallelPlugin
    from accelerate.utils.launch import prepare_multi_gpu_env

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "accelerate.yaml"
        path.write_text(text, encoding="utf-8")
        config = load_config_from_file(str(path))
        assert config.num_processes % said["data"] == 0
        known = vars(launch_command_parser().parse_args(["train.py"]))
        for section in ("fsdp_config", "parallelism_config"):
            for key in yaml.safe_load(text).get(section) or {}:
                assert key in known, key
        with environment():
            with pretended_gpus(8):
                args = launch_command_parser().parse_args(["--config_file", str(path), "train.py"])
                args, _, _ = _validate_launch_command(args)
            assert args.num_processes == config.num_processes
            if config.distributed_type.value != "FSDP":
                return "configuration loaded, launch command valid"
            assert args.use_fsdp and args.fsdp_version == 2
            made = prepare_multi_gpu_env(args)
            with environment(**{key: value for key, value in made.items() if key.startswith(("FSDP", "ACCELERATE", "PARALLELISM"))}):
                plugin = FullyShardedDataParallelPlugin()
                assert plugin.fsdp_version == 2
                assert isinstance(plugin.reshard_after_forward, bool)
                assert str(plugin.reshard_after_forward).lower() == made["FSDP_RESHARD_AFTER_FORWARD"]
                if args.use_parallelism_config:
                    from accelerate.parallelism_config import ParallelismConfig

                    assert ParallelismConfig().total_size == config.num_processes
    return "configuration loaded, launch command valid, FSDP plugin made"


def deepspeed_config(config, said):
    import deepspeed.runtime.config as module

    class World:
        """As many data-parallel processes as the file counts on."""

        @staticmethod
        def get_data_parallel_world_size():
            return said["data"]

    # Without a process group it would count on one process.
    module.dist.get_rank = lambda *_: 0
    read = module.DeepSpeedConfig(config, mpu=World)
    assert read.world_size == said["data"]
    assert read.train_micro_batch_size_per_gpu == said["micro"]
    assert read.gradient_accumulation_steps == said["steps"]
    assert read.train_batch_size == said["global"]
    # Every key of the groups that its models read is known to them.
    zero = module.DeepSpeedConfig(config, mpu=World).zero_config
    fields = type(zero).model_fields
    named = {field.alias: name for name, field in fields.items() if field.alias}
    for key, value in config.get("zero_optimization", {}).items():
        assert key in fields or key in named, key
        if isinstance(value, int):
            assert getattr(zero, named.get(key, key)) == value, key
    if config.get("zero_optimization", {}).get("stage") == 3:
        # What is counted are DeepSpeed's own defaults, and a default may change.
        assert zero.sub_group_size == fields["sub_group_size"].default
        for name in ("max_live_parameters", "max_reuse_distance", "prefetch_bucket_size", "param_persistence_threshold"):
            assert getattr(zero, name) == fields[name].default, name
    for group, kind in (("bf16", read.bfloat16_config), ("fp16", read.float16_config)):
        for key in config.get(group, {}):
            assert key in type(kind).model_fields, key
    if read.optimizer_name:
        assert read.optimizer_name in module.DEEPSPEED_OPTIMIZERS
    return read


def deepspeed(text, said):
    config = json.loads(text)
    deepspeed_config(config, said)
    # The Trainer reads the same file.
    from transformers.integrations.deepspeed import HfDeepSpeedConfig

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ds_config.json"
        path.write_text(text, encoding="utf-8")
        assert HfDeepSpeedConfig(str(path)).get_value("train_micro_batch_size_per_gpu") == said["micro"]
    return "DeepSpeedConfig made, three batch sizes agree"


# Version 0.2.2 and 0.3.0 cannot live in one process: this one reads a path a line and answers with what
# the file says, with the stages that torchtitan itself makes of it.
OLD_TORCHTITAN = """
import json, sys, types
sys.path.insert(0, sys.argv[1])
from torchtitan.config import ConfigManager
from torchtitan.distributed import ParallelDims, pipeline_parallel
from torchtitan.protocols.train_spec import get_train_spec

class Found(Exception):
    pass

def stages(c):
    flavors = get_train_spec(c.model.name).model_args
    if c.parallelism.pipeline_parallel_degree == 1 or c.model.flavor not in flavors:
        return None
    def split(model, mesh, schedule, device, names):
        raise Found(names)
    pipeline_parallel.pipeline_module_split = split
    dims = types.SimpleNamespace(pp=c.parallelism.pipeline_parallel_degree, get_mesh=lambda name: None)
    try:
        pipeline_parallel.pipeline_llm(None, dims, c, None, flavors[c.model.flavor], None, None)
    except Found as found:
        return found.args[0]

for path in sys.stdin:
    try:
        c = ConfigManager().parse_args(["--job.config_file", path.strip()])
        p = c.parallelism
        data = p.data_parallel_replicate_degree * p.data_parallel_shard_degree
        world = data * p.tensor_parallel_degree * p.pipeline_parallel_degree * p.context_parallel_degree
        ParallelDims(
            dp_replicate=p.data_parallel_replicate_degree, dp_shard=p.data_parallel_shard_degree,
            cp=p.context_parallel_degree, tp=p.tensor_parallel_degree, pp=p.pipeline_parallel_degree,
            ep=p.expert_parallel_degree, etp=p.expert_tensor_parallel_degree, world_size=world,
        )
        t = c.training
        answer = {
            "local": t.local_batch_size, "global": t.global_batch_size, "data": data,
            "pipeline": [p.pipeline_parallel_degree, p.pipeline_parallel_schedule, p.pipeline_parallel_microbatch_size],
            "stages": stages(c), "recomputed": [c.activation_checkpoint.mode, c.activation_checkpoint.selective_ac_option],
        }
    except BaseException as error:
        answer = repr(error)
    print("ANSWER " + json.dumps(answer), flush=True)
"""


class Apart:
    """A program in a process of its own: it reads a path a line and answers with what the file says."""

    def __init__(self, name, code, folder):
        self.name = name
        command = [sys.executable, "-W", "ignore", "-c", code, str(folder)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def read(self, path):
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                return json.loads(line.removeprefix("ANSWER "))
        raise RuntimeError(f"{self.name} does not answer")

    def read_text(self, text, name):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / name
            path.write_text(text, encoding="utf-8")
            answer = self.read(path)
        assert isinstance(answer, dict), answer
        return answer


def pipeline_fits(stages, schedule, size, local, names):
    """Whether PyTorch's schedule takes so many micro-batches, and every layer is in one stage, in order."""
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti, get_schedule_class

    assert local % size == 0
    batches = local // size
    interleaved = issubclass(get_schedule_class(schedule), PipelineScheduleMulti)
    # As Schedule1F1B and ScheduleInterleaved1F1B ask when they are made.
    assert batches % max(1, batches // stages) == 0 if interleaved else batches >= stages, (batches, stages)
    if names is None:
        return
    assert len(names) % stages == 0 and (len(names) > stages) == interleaved, names
    order = [name for stage in names for name in stage]
    assert order[0] == "tok_embeddings" and order[-2] == "norm" and order[-1] in ("output", "lm_head")
    layers = order[1:-2]
    assert layers == [f"layers.{number}" for number in range(len(layers))], layers


def torchtitan(text, said, old):
    answer = old.read_text(text, "torchtitan.toml")
    stages, schedule, size = answer["pipeline"]
    assert (answer["global"], answer["data"]) == (said["global"], said["data"])
    assert answer["local"] == said["micro"] * (said["steps"] if stages > 1 else 1)
    assert answer["recomputed"][0] != "selective" or answer["recomputed"][1] == "op" or int(answer["recomputed"][1]) > 0
    if stages > 1:
        pipeline_fits(stages, schedule, size, answer["local"], answer["stages"])
    # The flags of 0.3, which stand in a comment with a plan of their own.
    rest = text[text.index("# torchtitan 0.3 and later read flags") :]
    said = told(rest)
    flags = shlex.split(" ".join(line[1:].rstrip(" \\") for line in re.findall(r"^#   (?:-|activation).*", rest, re.M)))
    from torchtitan.config import ConfigManager

    own = "your_config" not in flags
    names = {"--module": "llama3", "--config": "llama3_debugmodel"}
    for at, flag in enumerate(flags[:-1]):
        if flag in names and flags[at + 1] in ("your_module", "your_config"):
            flags[at + 1] = names[flag]
    if "llama3_debugmodel" in flags:
        flags[flags.index("--module") + 1] = "llama3"
    with contextlib.redirect_stdout(io.StringIO()):
        config = ConfigManager().parse_args(flags)
    training, parallel = config.training, config.parallelism
    stages = parallel.pipeline_parallel_degree
    assert training.global_batch_size == said["global"]
    assert training.local_batch_size == said["micro"] * (said["steps"] if stages > 1 else 1)
    assert training.seq_len // parallel.context_parallel_degree % config.loss.num_chunks == 0
    if stages > 1:
        from types import SimpleNamespace

        from torchtitan.distributed import pipeline_parallel as pipelines

        modules = parallel.module_fqns_per_model_part
        if modules is None and own:
            made = pipelines._get_pipeline_metadata(SimpleNamespace(pp=stages), parallel, config.model_spec.model)
            modules = pipelines._generate_llm_fqn_per_model_part(*made)
        size = parallel.pipeline_parallel_microbatch_size
        pipeline_fits(stages, parallel.pipeline_parallel_schedule, size, training.local_batch_size, modules)
    return "0.2.2 reads the file and takes its mesh and stages, 0.3.0 takes the flags"


def megatron(text, said):
    import argparse as library

    listed = json.loads((HERE / "megatron_flags.json").read_text(encoding="utf-8"))["options"]
    parser = library.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    types = {"int": int, "float": float, "str": str}
    for name, option in listed.items():
        if option["kind"] == "flag":
            parser.add_argument(name, action="store_true")
        else:
            parser.add_argument(name, nargs=option.get("nargs"), type=types.get(option.get("type"), str), choices=option.get("choices"))
    # The shell itself says what the array holds.
    answer = subprocess.run(["bash", "-euc", text + '\nprintf "%s\\0" "${BMAX_ARGS[@]}"'], capture_output=True, text=True, check=True)
    args = parser.parse_args(answer.stdout.split("\0")[:-1])
    assert (args.micro_batch_size, args.global_batch_size) == (said["micro"], said["global"])
    megatron_stages(args, said)
    return "every flag is one of Megatron-LM’s, with a value it takes"


def megatron_stages(args, said):
    """What validate_args, TransformerConfig and the interleaved schedule ask of stages and micro-batches."""
    stages, chunks = args.pipeline_model_parallel_size, args.num_virtual_stages_per_pipeline_rank or 1
    first, last = args.decoder_first_pipeline_num_layers, args.decoder_last_pipeline_num_layers
    left, between = args.num_layers - (first or 0) - (last or 0), stages - (first is not None) - (last is not None)
    if stages > args.num_layers:
        return  # The file says that it is refused.
    assert bool(left) == bool(between) and (not between or left % between == 0), (first, last, left)
    assert all(layers % chunks == 0 for layers in (first or 0, last or 0, left // between if between else 0))
    assert chunks == 1 or said["steps"] % stages == 0
    if args.recompute_granularity == "full":
        assert args.recompute_method in ("uniform", "block") and args.recompute_num_layers > 0


def lightning(text, said):
    scope = {}
    with environment():
        exec(compile(text, "trainer.py", "exec"), scope)
        segments_grow(text)
    import torch

    assert scope["micro_batch"] == said["micro"]
    import lightning.pytorch as pl
    from lightning.pytorch import Trainer

    devices = int(re.search(r'"devices": (\d+)', text).group(1))
    nodes = int(re.search(r'"num_nodes": (\d+)', text).group(1))
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "enable_model_summary": False}
    with warnings.catch_warnings(), pretended_gpus(devices):
        warnings.simplefilter("ignore")
        trainer = scope["make_trainer"](torch.nn.TransformerEncoderLayer, **quiet)
    assert isinstance(trainer, Trainer)
    assert trainer.accumulate_grad_batches == said["steps"]
    assert trainer.num_devices * trainer.num_nodes == devices * nodes
    assert (devices * nodes) % said["data"] == 0
    kind = type(trainer.strategy).__name__
    if kind == "DeepSpeedStrategy":
        # What the strategy adds when training starts, it adds here; then DeepSpeed reads it.
        strategy = trainer.strategy
        assert "gradient_accumulation_steps" not in strategy.config and "optimizer" not in strategy.config
        strategy._lightning_module = torch.nn.Module()
        strategy._lightning_module.trainer = trainer
        strategy._init_config_if_needed()
        assert "zero_allow_untested_optimizer" in strategy.config
        if strategy.precision_plugin.precision == "bf16-true":
            assert strategy.config["bf16"]["enabled"] and strategy.config["data_types"]
        deepspeed_config(json.loads(json.dumps(strategy.config)), said)
    return f"Trainer built with {kind}"


def trl(text, said):
    """The commands' own parsers; for what has no command, that of the scripts of trl's repository."""
    import transformers.training_args as module
    import trl as library
    import yaml
    from accelerate.commands.launch import launch_command_parser
    from accelerate.state import AcceleratorState, PartialState

    module.is_torch_bf16_gpu_available = lambda: True
    for state in (AcceleratorState, PartialState):
        state._reset_state()
    command = re.search(r"Start: (?:trl (\w+)|.*examples/scripts/(?:ppo/)?(\w+)\.py)", re.sub(r"\s*\n#\s*", " ", text))
    command, script = command.groups()
    if command:
        import importlib

        parser = importlib.import_module(f"trl.scripts.{command}").make_parser()
    else:
        from trl.experimental.gkd import GKDConfig
        from trl.experimental.ppo import PPOConfig

        kind = {"gkd": GKDConfig, "ppo": PPOConfig}[script]
        parser = library.TrlParser((library.ScriptArguments, kind, library.ModelConfig))
    keys = yaml.safe_load(text)
    # As many processes as the file counts on.
    world = property(lambda self: said["data"])
    own = module.TrainingArguments.world_size
    with tempfile.TemporaryDirectory() as folder, environment(), warnings.catch_warnings():
        warnings.simplefilter("error", FutureWarning)
        # trl gives it a default of its own under the old name, which is read where nobody writes the new one.
        warnings.filterwarnings("ignore", message="`gradient_checkpointing")
        path = pathlib.Path(folder) / "trl.yaml"
        path.write_text(text, encoding="utf-8")
        module.TrainingArguments.world_size = world
        try:
            arguments, *others, rest, beyond = parser.parse_args_and_config(
                ["--config", str(path)], return_remaining_strings=True, separate_remaining_strings=True
            )
        finally:
            module.TrainingArguments.world_size = own
        assert keys.get("env", {}).items() <= os.environ.items()
    script_arguments, (training, model, *_) = arguments, others
    assert not beyond
    # What is not the trainer's is the launcher's.
    launched = launch_command_parser().parse_args([*rest, "train.py"])
    assert (launched.num_processes == said["data"]) if command else not rest
    for key, value in keys.items():
        if key in ("env", "num_processes"):
            continue
        # A script's own arguments stand behind those of the trainer, which has some of the same name.
        holds = next(part for part in (training, model, script_arguments) if hasattr(part, key))
        held = getattr(holds, key)
        if key == "lora_target_modules" and len(value) == 1:
            value = value[0]
        if key in ("fsdp_config", "deepspeed", "fsdp", "optim", "gradient_checkpointing", "gradient_checkpointing_kwargs"):
            continue
        assert held == value, (key, held, value)
    assert training.per_device_train_batch_size == said["micro"]
    assert training.gradient_accumulation_steps == said["steps"]
    assert bool(training.activation_checkpointing) == keys["gradient_checkpointing"]
    assert str(training.optim.value if hasattr(training.optim, "value") else training.optim) == keys["optim"]
    if training.deepspeed:
        deepspeed_config(json.loads(json.dumps(training.deepspeed).replace('"auto"', "0.0001")), said)
    if keys.get("fsdp"):
        assert training.fsdp_plugin_args["fsdp_version"] == 2
    if keys.get("use_peft"):
        config = library.get_peft_config(model)
        assert config.r == keys["lora_r"]
        quantized = library.get_quantization_config(model)
        assert (quantized is not None) == bool(keys.get("load_in_4bit") or keys.get("load_in_8bit"))
        if keys.get("load_in_4bit"):
            assert str(quantized.bnb_4bit_compute_dtype) == "torch." + keys["dtype"]
    if "num_generations" in keys:
        assert training.generation_batch_size % training.num_generations == 0
    return f"read by the parser of trl {command}" if command else f"read by TrlParser as {script}.py has it"


def adapters(text, _said):
    import peft

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "adapter_config.json"
        path.write_text(text, encoding="utf-8")
        with warnings.catch_warnings():
            # The one key that it does not know.
            warnings.filterwarnings("error", message="Unexpected keyword arguments(?!.*'_comment'\\])")
            config = peft.PeftConfig.from_pretrained(folder)
    assert isinstance(config, peft.LoraConfig)
    for key, value in json.loads(text).items():
        if key == "_comment":
            continue
        held = getattr(config, key)
        assert (sorted(held) if isinstance(held, set) else held) == (sorted(value) if isinstance(value, list) else value), key
    return "LoraConfig made"


# Both ask for other versions of transformers than the one that the rest is checked with.
AXOLOTL = """
import json, re, sys
sys.path.insert(0, sys.argv[1])
import yaml
from axolotl.utils.config import validate_config
from axolotl.utils.dict import DictDefault
from axolotl.utils.schemas.config import AxolotlInputConfig
from axolotl.utils.schemas.fsdp import FSDPConfig
from axolotl.utils.schemas.trl import TRLConfig
from axolotl.utils.schemas.vllm import VllmConfig
from axolotl.integrations.base import PluginManager
from axolotl.integrations.liger.args import LigerArgs
from transformers.training_args import OptimizerNames

PARTS = {"fsdp_config": FSDPConfig, "trl": TRLConfig, "vllm": VllmConfig}

def read(path):
    given = yaml.safe_load(open(path, encoding="utf-8"))
    # What the file calls by an older name, and what the schema makes of it.
    names = {field.alias: name for name, field in AxolotlInputConfig.model_fields.items() if field.alias}
    known = set(AxolotlInputConfig.model_fields) | set(names)
    if given.get("plugins"):
        known |= set(LigerArgs.model_fields)
        for plugin in given["plugins"]:
            PluginManager.get_instance().register(plugin)
    for key, value in given.items():
        assert key in known, key
        for inner in value if key in PARTS else ():
            assert inner in PARTS[key].model_fields, (key, inner)
    assert given["optimizer"] in {name.value for name in OptimizerNames} | {"adamw_torch_8bit"}, given["optimizer"]
    count = int(re.search(r"(\\d+)[#\\s]+data-parallel", open(path, encoding="utf-8").read())[1])
    gpus = {"bf16": True, "tf32": True, "fp8": False, "n_gpu": count, "n_node": 1, "compute_capability": "sm_90"}
    read = validate_config(DictDefault(yaml.safe_load(open(path, encoding="utf-8"))), gpus, {"torch_version": "2.11.0"}).to_dict()
    for key, value in given.items():
        if key in PARTS:
            for inner, wanted in value.items():
                assert read[key][inner] == wanted, (key, inner, read[key][inner], wanted)
        elif key != "datasets":
            held = read[names.get(key, key)]
            assert held == value, (key, held, value)
    for one, other in zip(given["datasets"], read["datasets"]):
        assert one.items() <= dict(other).items(), (one, other)
    return {"micro": read["micro_batch_size"], "steps": read["gradient_accumulation_steps"], "deepspeed": read.get("deepspeed"),
            "task": read.get("rl") or ("reward" if read.get("reward_model") else "sft")}

for path in sys.stdin:
    try:
        answer = read(path.strip())
    except BaseException as error:
        answer = repr(error)[:3000]
    print("ANSWER " + json.dumps(answer, default=str), flush=True)
"""


def axolotl(text, said, program):
    answer = program.read_text(text, "axolotl.yaml")
    assert (answer["micro"], answer["steps"]) == (said["micro"], said["steps"])
    if answer["deepspeed"]:
        deepspeed_config(json.loads(json.dumps(answer["deepspeed"]).replace('"auto"', "0.0001")), said)
    return f"validated by its schema, for {answer['task'].removeprefix('RLType.').lower()}"


LLAMA_FACTORY = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
os.environ["HF_HUB_OFFLINE"] = "1"
import transformers.training_args as module
from transformers.training_args import ParallelMode
from accelerate.state import AcceleratorState, PartialState
from llamafactory.hparams import parser

# Whether bf16 works on a GPU, and how many processes there are, is not what is checked.
module.is_torch_bf16_gpu_available = parser.is_torch_bf16_gpu_available = lambda: True
Arguments = parser.TrainingArguments
Arguments.parallel_mode = property(lambda self: ParallelMode.DISTRIBUTED)
import yaml

def read(path):
    for state in (AcceleratorState, PartialState):
        state._reset_state()
    given = yaml.safe_load(open(path, encoding="utf-8"))
    sys.argv = ["llamafactory-cli", path]
    parts = parser.get_train_args()
    model, data, training, tuning, _ = parts
    for key, value in given.items():
        held = getattr(next(part for part in parts if hasattr(part, key)), key)
        held = getattr(held, "value", held)
        if key in ("lora_target", "dataset"):
            held = ",".join(held)
        elif key == "fsdp":
            held = " ".join(option.value for option in held)
        elif key in ("fsdp_config", "deepspeed"):
            continue
        assert held == value, (key, held, value)
    for key, value in given.get("fsdp_config", {}).items():
        assert training.fsdp_config[key] == value, key
    return {"micro": training.per_device_train_batch_size, "steps": training.gradient_accumulation_steps,
            "deepspeed": training.deepspeed, "task": tuning.stage, "type": str(model.compute_dtype)}

for path in sys.stdin:
    try:
        answer = read(path.strip())
    except BaseException as error:
        answer = repr(error)[:3000]
    print("ANSWER " + json.dumps(answer, default=str), flush=True)
"""


def llama_factory(text, said, program):
    answer = program.read_text(text, "llama_factory.yaml")
    assert (answer["micro"], answer["steps"]) == (said["micro"], said["steps"])
    if answer["deepspeed"]:
        deepspeed_config(json.loads(json.dumps(answer["deepspeed"]).replace('"auto"', "0.0001")), said)
    return f"read by get_train_args, stage {answer['task']}"


def in_a_fork(path, arguments):
    """Runs a script as a program of its own, but with PyTorch loaded already: most of its time goes there."""
    import runpy

    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                os.dup2(output.fileno(), 1)
                os.dup2(output.fileno(), 2)
                sys.stdout = os.fdopen(1, "w", encoding="utf-8")
                sys.stderr = os.fdopen(2, "w", encoding="utf-8")
                sys.argv = [str(path), *arguments]
                runpy.run_path(str(path), run_name="__main__")
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(status), output.read()


def measure(text, said):
    # Every module of the script runs, with a tiny model, forward, backward and update.
    import torch
    # What a script would load while it runs; here it is loaded once.
    import torch._dynamo
    import torch.distributed.fsdp
    import torch.distributed.tensor

    torch.set_num_threads(1)
    tiny = ["--device", "cpu", "--tiny"]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "bmax_measure.py"
        path.write_text(text, encoding="utf-8")
        with environment(MASTER_PORT=0):
            code, output = in_a_fork(path, tiny)
        assert code == 0, output[-2000:]
        assert "two steps, loss" in output and "To type into the page: nothing" in output, output
        assert "nan" not in output, output
        if '\n    "gpus": 2,' in text:
            free = {**os.environ, "OMP_NUM_THREADS": "1"}
            alone = subprocess.run([sys.executable, str(path), *tiny[:2]], capture_output=True, text=True, env=free)
            assert alone.returncode != 0 and "no GPU here" in alone.stderr
            together = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", str(path), *tiny]
            answer = subprocess.run(together, capture_output=True, text=True, env=free)
            assert answer.returncode == 0, answer.stderr[-3000:]
            return "runs on a CPU with a tiny model, alone and as two processes"
    return "runs on a CPU with a tiny model"


def plain(_text, _said):
    return "written"


def json_report(text, _said):
    report = json.loads(text)
    assert report["estimate"]["peak"]["bytes"] > 0
    return "parsed"


# --- All of it ----------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bmax")
    parser.add_argument("old_torchtitan", type=pathlib.Path)
    parser.add_argument("axolotl", type=pathlib.Path)
    parser.add_argument("llama_factory", type=pathlib.Path)
    parser.add_argument("--only", help="one target, for somebody at work on it; nothing is recorded then")
    arguments = parser.parse_args()
    scenarios = json.loads((HERE / "scenarios.json").read_text(encoding="utf-8"))
    every = {**scenarios["recorded"], **{question: question for question in scenarios["checked"]}}
    checks = {
        "transformers": transformers, "accelerate": accelerate, "deepspeed": deepspeed, "megatron": megatron,
        "torchtitan": lambda text, said: torchtitan(text, said, old),
        "trl": trl, "peft": adapters,
        "axolotl": lambda text, said: axolotl(text, said, apart[0]),
        "llama-factory": lambda text, said: llama_factory(text, said, apart[1]),
        "lightning": lightning, "measure": measure, "markdown": plain, "json": json_report, "bibtex": plain,
    }
    outcomes, failures, digests = {}, [], {}
    old = Apart("torchtitan 0.2.2", OLD_TORCHTITAN, arguments.old_torchtitan)
    apart = [Apart("axolotl", AXOLOTL, arguments.axolotl), Apart("LLaMA-Factory", LLAMA_FACTORY, arguments.llama_factory)]
    for name, question in every.items():
        for target in TARGETS if arguments.only is None else [arguments.only]:
            text = written(arguments.bmax, target, question)
            # As many digits as in record.rs.
            digests.setdefault(name, {})[target] = hashlib.sha256(without_query(text).encode()).hexdigest()[:16]
            said = told(text) if target in TOLD else None
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    outcome = checks[target](text, said)
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                failures.append((target, name))
                print(f"FAILED {target}, {name}\n{''.join(traceback.format_exception(error, limit=-4))}", file=sys.stderr)
                continue
            outcomes.setdefault(target, {}).setdefault(outcome, []).append(name)
        print(f"{name}: checked", flush=True)
    if failures:
        print(f"{len(failures)} of {len(every) * len(TARGETS)} checks failed", file=sys.stderr)
        return 1
    if arguments.only is None:
        record(outcomes, digests)
    print(f"{len(every)} scenarios, every export read by its program")
    return 0


def apart(name):
    """What a program in a folder of its own is read with."""
    pinned = [line.split("==") for line in (HERE / f"{name}.txt").read_text(encoding="utf-8").splitlines() if "==" in line]
    versions = dict(pinned)
    return name, f"{versions[name]}, with transformers {versions['transformers']}"


def record(outcomes, digests):
    """What was handed over: when, to which versions, what they did with it, and the digest of each."""
    own = ["torch", "transformers", "accelerate", "deepspeed", "lightning", "torchtitan", "peft", "trl"]
    megatron = json.loads((HERE / "megatron_flags.json").read_text(encoding="utf-8"))
    versions = [
        *((name, importlib.metadata.version(name)) for name in own),
        ("torchtitan, for TOML", "0.2.2"),
        apart("axolotl"),
        apart("llamafactory"),
        ("Megatron-LM, list of flags", f"commit {megatron['commit'][:12]} of {megatron['date']}"),
    ]
    done = [
        {"target": target, "what": what, "scenarios": len(names)}
        for target in TARGETS for what, names in outcomes[target].items()
    ]
    handed_over = {
        "date": datetime.date.today().isoformat(),
        "python": platform.python_version(),
        "versions": versions,
        "outcomes": done,
        "digests": digests,
    }
    text = json.dumps(handed_over, indent=1, ensure_ascii=False)
    (HERE / "handed_over.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
