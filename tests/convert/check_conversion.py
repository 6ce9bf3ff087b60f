"""Reads converted models with the `gguf` package and compares them with the checkpoint they were made from.

usage: check_conversion.py FOLDER MODEL...
Models called `*.powerinfer.gguf` must hold the predictors of FOLDER/predictor, others none.

Everything here is written from the descriptions of the formats, apart from the code under test: the checkpoint is read
with a few lines of numpy, the layout changes are numpy reshapes, the rotary divisors are computed again.
Prints the first difference and exits with 1, or prints "ok".
"""
import io
import json
import math
import pathlib
import pickle
import shutil
import struct
import sys
import tempfile
import zipfile

import numpy as np
from gguf import GGUFReader
from gguf.quants import dequantize


def widen(raw, dtype, shape):
    if dtype == "F32":
        a = np.frombuffer(raw, "<f4")
    elif dtype == "F16":
        a = np.frombuffer(raw, "<f2").astype(np.float32)
    elif dtype == "BF16":
        a = (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        sys.exit(f"dtype {dtype}")
    return a.reshape(shape).astype(np.float32)


def read_checkpoint(folder):
    tensors = {}
    for path in sorted(folder.glob("model*.safetensors")):
        data = path.read_bytes()
        n = struct.unpack("<Q", data[:8])[0]
        for name, t in json.loads(data[8 : 8 + n]).items():
            if name != "__metadata__":
                begin, end = (8 + n + o for o in t["data_offsets"])
                tensors[name] = widen(data[begin:end], t["dtype"], t["shape"])
    return tensors


class Unpickler(pickle.Unpickler):
    """Only what a state dict of plain tensors needs."""

    def __init__(self, archive, root):
        super().__init__(io.BytesIO(archive.read(root + "/data.pkl")))
        self.archive, self.root = archive, root

    def find_class(self, module, name):
        if name == "_rebuild_tensor_v2":
            return self.rebuild
        if name == "OrderedDict":
            return dict
        return {"HalfStorage": "F16", "BFloat16Storage": "BF16", "FloatStorage": "F32"}[name]

    def persistent_load(self, key):
        return key[1], self.archive.read(f"{self.root}/data/{key[2]}")

    def rebuild(self, storage, offset, size, stride, *rest):
        dtype, raw = storage
        flat = widen(raw, dtype, (-1,))
        strides = tuple(4 * s for s in stride)
        return np.lib.stride_tricks.as_strided(flat[offset:], tuple(size), strides).copy()


def read_predictor(path):
    archive = zipfile.ZipFile(path)
    root = archive.namelist()[0].split("/")[0]
    return Unpickler(archive, root).load()


def open_model(path):
    """The package knows one magic; PowerInfer's files differ in the first four bytes only."""
    copy = pathlib.Path(tempfile.mkdtemp()) / "model.gguf"
    shutil.copyfile(path, copy)
    with open(copy, "r+b") as f:
        magic = f.read(4)
        f.seek(0)
        f.write(b"GGUF")
    reader = GGUFReader(copy)
    return magic, reader, copy.parent


def value(field):
    part = field.parts[field.data[0]]
    return bytes(part).decode() if field.types[0].name == "STRING" else part.tolist()[0]


def check(model, folder):
    predictor = folder / "predictor" if model.endswith(".powerinfer.gguf") else None
    config = json.loads((folder / "config.json").read_text())
    source = read_checkpoint(folder)
    magic, reader, scratch = open_model(model)

    def expect(what, found, wanted):
        if found != wanted:
            sys.exit(f"{model}: {what}: {found!r} instead of {wanted!r}")

    expect("magic", magic, b"PWRI" if predictor else b"GGUF")
    arch = {"bamboo": "bamboo"}.get(config["model_type"], "llama")
    n_head = config["num_attention_heads"]
    n_kv = config.get("num_key_value_heads") or n_head
    width = config["hidden_size"]
    head = config.get("head_dim") or width // n_head
    keys = {name: field for name, field in reader.fields.items()}
    wanted = {
        "general.architecture": arch,
        f"{arch}.context_length": config["max_position_embeddings"],
        f"{arch}.embedding_length": width,
        f"{arch}.block_count": config["num_hidden_layers"],
        f"{arch}.feed_forward_length": config["intermediate_size"],
        f"{arch}.attention.head_count": n_head,
        f"{arch}.attention.head_count_kv": n_kv,
        f"{arch}.rope.dimension_count": head,
        f"{arch}.rope.freq_base": config["rope_theta"],
        f"{arch}.attention.layer_norm_rms_epsilon": float(np.float32(config["rms_norm_eps"])),
        "powerinfer.activation": config["hidden_act"],
    }
    if head * n_head != width:
        wanted[f"{arch}.attention.key_length"] = wanted[f"{arch}.attention.value_length"] = head
    if config.get("sliding_window"):
        wanted[f"{arch}.attention.sliding_window"] = config["sliding_window"]
    if predictor and (predictor / "config.json").exists():
        wanted["powerinfer.sparse_threshold"] = json.loads((predictor / "config.json").read_text())["sparse_threshold"]
    scaling = config.get("rope_scaling") or {}
    kind = scaling.get("rope_type") or scaling.get("type")
    if kind in ("linear", "yarn"):
        wanted[f"{arch}.rope.scaling.type"] = kind
        wanted[f"{arch}.rope.scaling.factor"] = scaling["factor"]
    if kind == "yarn":
        wanted[f"{arch}.rope.scaling.original_context_length"] = scaling["original_max_position_embeddings"]
    for name, v in wanted.items():
        if name not in keys:
            sys.exit(f"key {name} is missing")
        expect(name, value(keys[name]), v)
    expect("tokens", len(keys["tokenizer.ggml.tokens"].data), config["vocab_size"])

    def paired(w, heads):
        return w.reshape(heads, 2, head // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)

    expected = {
    "token_embd.weight" : source.pop("model.embed_tokens.weight"),
        "output_norm.weight" : source.pop("model.norm.weight"),
    }
    if not config.get("tie_word_embeddings", False):
        expected["output.weight"] = source.pop("lm_head.weight")
    names = {
    "input_layernorm" : "attn_norm",
                        "self_attn.q_proj" : "attn_q",
                                             "self_attn.k_proj" : "attn_k",
                                                                  "self_attn.v_proj" : "attn_v",
                                                                                       "self_attn.o_proj"
        : "attn_output",
          "post_attention_layernorm" : "ffn_norm",
                                       "mlp.gate_proj" : "ffn_gate",
                                                         "mlp.up_proj" : "ffn_up",
                                                                         "mlp.down_proj" : "ffn_down",
    }
    for name in list(source):
        _, _, layer, rest = name.split(".", 3)
        part, suffix = rest.rsplit(".", 1)
        w, target = source.pop(name), names[part]
        if target in ("attn_q", "attn_k"):
            w = paired(w, n_head if target == "attn_q" else n_kv)
        if target == "ffn_down" and predictor and suffix == "weight":
            w, target = w.T, "ffn_down_t"
        expected[f"blk.{layer}.{target}.{suffix}"] = w
    if predictor:
        for layer in range(config["num_hidden_layers"]):
            for name, w in read_predictor(predictor / f"model_{layer}.pt").items():
                expected[f"blk.{layer}.{name}"] = w
    if kind == "llama3":
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        original, factor = scaling["original_max_position_embeddings"], scaling["factor"]
        divisors = []
        for i in range(head // 2):
            frequency = 1.0 / config["rope_theta"] ** (2 * i / head)
            length = 2 * math.pi / frequency
            smooth = (original / length - low) / (high - low)
            scaled = (1 - smooth) * frequency / factor + smooth * frequency
            if length < original / high:
                scaled = frequency
            elif length > original / low:
                scaled = frequency / factor
            divisors.append(frequency / scaled)
        expected["rope_freqs.weight"] = np.array(divisors, np.float32)

    found = {t.name: t for t in reader.tensors}
    expect("tensors", sorted(found), sorted(expected))
    tolerance = {
    "F32" : 1e-6, "F16" : 1e-3, "BF16" : 8e-3, "Q8_0" : 1e-2, "Q4_0" : 0.2}
    for name, w in expected.items():
        t = found[name]
        expect(f"shape of {name}", t.shape.tolist(), list(reversed(w.shape)))
        if w.ndim == 1:
            expect(f"type of {name}", t.tensor_type.name, "F32")
        values = dequantize(t.data, t.tensor_type).reshape(w.shape)
        scale = np.abs(w).max()
        worst = float(np.abs(values - w).max())
        if not worst <= tolerance[t.tensor_type.name] * scale:
            sys.exit(f"{name} ({t.tensor_type.name}) differs by {worst}, its largest value is {scale}")
    shutil.rmtree(scratch)


for argument in sys.argv[2:]:
    check(argument, pathlib.Path(sys.argv[1]))
print("ok")
