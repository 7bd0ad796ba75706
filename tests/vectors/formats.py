"""What PyTorch makes of numbers in each format: python3 formats.py > formats.json   (torch 2.15)

Numbers are written as the bit pattern of an fp32, so that every one is exact, and the results as bit patterns: fp16,
bf16, fp8 E4M3 (`float8_e4m3fn`) and fp8 E5M2, rounded by PyTorch's own casts.
"""

import json
import random
import struct

import torch

random.seed(1)
chosen = [
    0.0, 1.0, -1.0, 1 / 3, 0.1, 65504.0, 65519.9, 65520.0, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-14, 3.4e38, 448.0,
    464.0, 465.0, 57344.0, 61439.0, 61440.0, 2.0**-9, 2.0**-10, 2.0**-16, 2.0**-17, 1.001, 1.00390625, 1.01171875, 6e-8,
]
numbers = chosen + [random.choice((1, -1)) * 2.0 ** random.uniform(-30, 20) for _ in range(250)]
numbers += [2.0 ** random.uniform(-149, 127) for _ in range(50)]
x = torch.tensor(numbers, dtype=torch.float32)
types = [
    (torch.float32, torch.int32, 32), (torch.float16, torch.int16, 16), (torch.bfloat16, torch.int16, 16),
    (torch.float8_e4m3fn, torch.uint8, 8), (torch.float8_e5m2, torch.uint8, 8),
]
columns = [[value % 2**bits for value in x.to(kind).view(raw).tolist()] for kind, raw, bits in types]
print("[\n" + ",\n".join(json.dumps(row) for row in zip(*columns)) + "\n]")
