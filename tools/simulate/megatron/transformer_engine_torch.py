"""What functions of transformer_engine_torch 2.20.2 (C++) ask PyTorch's allocator for, in the same order; nothing is computed."""
import enum, glob, importlib.util, math, os, re
import torch

def _enum(name, members):
    cls = enum.IntEnum(name, members)
    return cls

DType = _enum("DType", dict(kByte=0, kInt32=2, kFloat32=4, kFloat16=5, kBFloat16=6, kFloat8E4M3=7, kFloat8E5M2=8, kFloat4E2M1=10))
TORCH = {0: torch.uint8, 2: torch.int32, 4: torch.float32, 5: torch.float16, 6: torch.bfloat16}
FP8FwdTensors = _enum("FP8FwdTensors", {n: i for i, n in enumerate("GEMM1_INPUT GEMM1_WEIGHT GEMM1_OUTPUT GEMM2_INPUT GEMM2_WEIGHT GEMM2_OUTPUT GEMM3_INPUT GEMM3_WEIGHT GEMM3_OUTPUT".split())})
FP8BwdTensors = _enum("FP8BwdTensors", {n: i for i, n in enumerate("GRAD_OUTPUT1 GRAD_INPUT1 GRAD_OUTPUT2 GRAD_INPUT2 GRAD_OUTPUT3 GRAD_INPUT3".split())})
NVTE_Fused_Attn_Backend = _enum("NVTE_Fused_Attn_Backend", dict(NVTE_No_Backend=-1, NVTE_F16_arbitrary_seqlen=1, NVTE_FP8=2))

def _found(prefix):
    names = set()
    for path in glob.glob(os.path.join(SITE, "pytorch/**/*.py"), recursive=True):
        names |= set(re.findall(r"\b" + prefix + r"\.([A-Za-z]\w*)", open(path).read()))
    return {n: i for i, n in enumerate(sorted(names - {"__members__"}))}

SITE = next(iter(importlib.util.find_spec("transformer_engine").submodule_search_locations))
for _name in "NVTE_QKV_Layout NVTE_QKV_Format NVTE_Bias_Type NVTE_Mask_Type NVTE_Softmax_Type CommOverlapType CommOverlapAlgo NVTEScalingMode NVTERoutingMapFormat NVTEQBHistogramMode".split():
    globals()[_name] = _enum(_name, _found(_name) or {"NONE": 0})

NVTERoutingMapFormat = _enum("NVTERoutingMapFormat", dict(BYTEMAP=0, BITMAP_U8=1))
NVTEQBHistogramMode = _enum("NVTEQBHistogramMode", dict(TWO_KERNEL=0, FUSED_ATOMIC=1))

class FP8TensorMeta:
    def __init__(self): self.scale = self.scale_inv = self.amax_history = None

class CommOverlapHelper: pass
class CommOverlap: pass
class CommOverlapP2P: pass
class CommOverlapBase: pass
class CommOverlapCore: pass

def get_cublasLt_version(): return 130400
def get_cudnn_version(): return 92600
def get_num_cublas_streams(): return 4
def ubuf_built_with_mpi(): return False
def device_supports_multicast(*a): return False
def get_stream_priority_range(*a): return (0, -5)
def ep_zero_copy_supported(*a): return False

def get_fused_attn_backend(*a): return NVTE_Fused_Attn_Backend.NVTE_F16_arbitrary_seqlen, ""

def _empty(shape, dtype): return torch.empty(tuple(shape), dtype=dtype, device="cuda")

def generic_gemm(A, transa, B, transb, D, quantizer, out_dtype, bias, bias_type, gelu, gelu_in, grad, workspace, workspace_size,
                 accumulate, use_split_accumulator, comm_overlap=None, comm_type=None, extra_output=None, bulk_overlap=False, alpha=1.0, beta=None):
    assert quantizer is None and comm_overlap is None
    A0, A1 = math.prod(A.shape[:-1]), A.shape[-1]
    B0, B1 = math.prod(B.shape[:-1]), B.shape[-1]
    shape = [B1] if transb else list(B.shape[:-1])
    shape.append(A0 if transa else A1)
    dtype = TORCH[int(out_dtype)] if out_dtype is not None else A.dtype
    if D is None: D = _empty(shape, dtype)
    assert list(D.shape) == shape, (D.shape, shape)
    bias_grad = _empty([B1], D.dtype) if bias is not None and grad else None
    pre = _empty(shape, D.dtype) if gelu and not grad else None
    return D, bias_grad, pre, extra_output

def rmsnorm_fwd(input, weight, eps, out, quantizer, out_dtype, sm_margin, zero_centered_gamma):
    rsigma = _empty([input.numel() // input.shape[-1]], torch.float32)
    if out is None: out = _empty(input.shape, TORCH[int(out_dtype)])
    return out, None, rsigma

def layernorm_fwd(input, weight, bias, eps, out, quantizer, out_dtype, sm_margin, zero_centered_gamma):
    mu = _empty([input.numel() // input.shape[-1]], torch.float32)
    rsigma = _empty([input.numel() // input.shape[-1]], torch.float32)
    if out is None: out = _empty(input.shape, TORCH[int(out_dtype)])
    return out, mu, rsigma

def rmsnorm_bwd(dz, x, rsigma, gamma, sm_margin, zero_centered_gamma):
    dz, x = dz.contiguous(), x.contiguous()
    dx, dgamma = torch.empty_like(x), torch.empty_like(gamma)
    return dx, dgamma

def layernorm_bwd(dz, x, mu, rsigma, gamma, sm_margin, zero_centered_gamma):
    dz, x = dz.contiguous(), x.contiguous()
    return torch.empty_like(x), torch.empty_like(gamma), torch.empty_like(gamma)

def bgrad_quantize(grad, quantizer):
    grad = grad.contiguous()
    b = _empty([grad.shape[-1]], grad.dtype)
    torch.sum(grad.reshape(-1, grad.shape[-1]), 0, out=b)
    return b, grad

def _act(divisor):
    def act(input, quantizer, *a):
        input = input.contiguous()
        return _empty([*input.shape[:-1], input.shape[-1] // divisor], input.dtype)
    return act

def _dact(grad, input, quantizer, *a):
    grad, input = grad.contiguous(), input.contiguous()
    return _empty(input.shape, input.dtype)

gelu = qgelu = relu = srelu = silu = _act(1)
geglu = qgeglu = reglu = sreglu = swiglu = glu = _act(2)
dgelu = dqgelu = drelu = dsrelu = dsilu = dgeglu = dqgeglu = dreglu = dsreglu = dswiglu = dglu = _dact

def fused_rope_forward(input, freqs, start_positions, qkv_format, interleaved, cu_seqlens, cp_size, cp_rank):
    return _empty(input.shape, input.dtype)

def fused_rope_backward(grad, freqs, start_positions, qkv_format, interleaved, cu_seqlens, cp_size, cp_rank):
    return _empty(grad.shape, grad.dtype)

def fused_attn_fwd(max_q, max_kv, is_training, scale, p, set_zero, qkv_layout, o_format, scale_format, bias_type, mask_type, softmax_type,
                   window, bottom_right, cu_q, cu_kv, Q, K, V, fake_dtype, *rest):
    o = _empty([*Q.shape[:-1], V.shape[-1]], fake_dtype)
    rng = _empty([2], torch.int64)
    b = cu_q.numel() - 1
    # cuDNN's plan takes what it needs briefly: nothing of the size of activations forward.
    stats = _empty([b, Q.shape[-2], max_q, 1], torch.float32)
    return [o, stats, rng]

def fused_attn_bwd(max_q, max_kv, scale, p, set_zero, qkv_layout, o_format, do_format, dqkv_layout, f1, f2, bias_type, mask_type, softmax_type,
                   window, bottom_right, deterministic, cu_q, cu_kv, Q, K, V, O, dO, fake_dtype, aux, *rest):
    name = qkv_layout.name
    if name.endswith("3HD"):
        whole = _empty([*Q.shape[:-2], 3, *Q.shape[-2:]], fake_dtype); dq, dk, dv = (whole[..., i, :, :] for i in range(3))
    elif name.endswith("H3D"):
        whole = _empty([*Q.shape[:-1], 3, Q.shape[-1]], fake_dtype); dq, dk, dv = (whole[..., i, :] for i in range(3))
    elif name.endswith("2HD") or name.endswith("H2D"):
        raise NotImplementedError(name)
    else:
        dq, dk, dv = (_empty(t.shape, fake_dtype) for t in (Q, K, V))
    b, h, d = cu_q.numel() - 1, Q.shape[-2], Q.shape[-1]
    size = b * h * max_q * d * 4 + b * h * max_q * 4
    workspace = _empty([size], torch.uint8)
    return [dq, dk, dv, None, None]

def _nothing(*a, **k): return None
def dropout_fwd(input, p, out=None):
    out = _empty(input.shape, input.dtype) if out is None else out
    mask = _empty([input.numel() // 8], torch.uint8)
    rng = _empty([2], torch.int64)
    return out, mask
def dropout_bwd(grad, mask, p, out=None): return torch.empty_like(grad) if out is None else out

def multi_tensor_l2norm(chunk_size, overflow, lists, per_tensor=False):
    # csrc/extensions/multi_tensor/l2norm.cpp
    device = lists[0][0].device
    output = torch.zeros(320, dtype=torch.float32, device=device)
    ret = torch.empty(1, dtype=torch.float32, device=device)
    if per_tensor:
        n = len(lists[0]); most = max(-(-t.numel() // chunk_size) for t in lists[0])
        out = torch.zeros(n * most, dtype=torch.float32, device=device); rpt = torch.empty(n, dtype=torch.float32, device=device)
    else:
        rpt = torch.empty(0, dtype=torch.float32, device=device)
    return ret, rpt

for _name in "multi_tensor_scale multi_tensor_adam multi_tensor_adam_param_remainder multi_tensor_adam_capturable multi_tensor_adam_capturable_master multi_tensor_adam_fp8 multi_tensor_sgd multi_tensor_unscale_l2norm multi_tensor_compute_scale_and_scale_inv multi_tensor_compute_scale_inv_e8m0 multi_tensor_scale_tensor".split():
    globals()[_name] = _nothing

def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    if name[0].islower():
        def missing(*a, **k): raise NotImplementedError(name)
        return missing
    return type(name, (), {})

_names = set(re.findall(r"\btex\.([a-z]\w*)", "\n".join(open(p).read() for p in glob.glob(SITE + "/**/*.py", recursive=True))))
for _name in _names:
    if _name not in globals():
        globals()[_name] = __getattr__(_name)
