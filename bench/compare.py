"""Driver of bench/compare.sh: makes the models, measures both sides in turn, prints the table."""
import argparse
import importlib.metadata
import json
import operator
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field

from compare_sides import BASE, Children, Failed, Ours, Peer, median, seconds, settings_text

ROUNDS = (2, 2, 1)  # samples of each side before it is the other's turn: five in all
QUIET = 0.1  # share of the processors that others may take; beyond, no row counts as met or missed
SHAPES = {  # n_embd, n_ff, n_embd_kv, n_vocab
    "llama-7b": (4096, 11008, 4096, 32000),
    "mistral-7b": (4096, 14336, 1024, 32000),
}
BYTES_PER_WEIGHT = {"q4_0": 18 / 32, "q4_K_M": 0.61, "q6_K": 210 / 256, "q8_0": 34 / 32, "f16": 2}
# Integer operations in the time of one operation of the FMA loop: 64 products of bytes by one VNNI instruction against 16
# of floats; AVX2 without VNNI needs three instructions for 32 against 8.
INTEGER_RATE = {"avx512": 4.0, "avxvnni": 4.0, "avx2": 4 / 3}

NOTES = """\
- Times are medians of {samples} samples, taken in turn: {rounds} of llama.cpp, as many of ours, and again. In brackets the range;
  for ratios that of the blocks.
- Floor: weights that one token (or a prompt, or a step of four tokens) must read, and for prompts the operations of its
  matrices and attention. Bandwidth: reads of 2 GiB right before each block of ours, same threads.
- Ceiling: what the row could be if we ran exactly at the floor and the other side as it did here: its time / the floor's time. For
  decoding that is its bytes / our bytes / its share of the bandwidth. A floor's time is bytes / bandwidth, or operations / peak
  where that is longer, peak being the FMA loop of the same run times the integer products that the instruction set does in the
  time of one of floats ({factor:.2g} here).
- Limit: the floor's time in per cent of ours.
- Hash: fingerprint of our last logits, beside it that of our own `off` on the same file."""


@dataclass
class Row:
    name: str
    case: str
    kind: str                  # share, decode, prompt, predict-prompt, batch, context, scaling
    target: float
    type: str = "q4_0"
    shape: str = "llama-7b"
    layers: int = 8            # of the full run; the quick one has at most 8
    quick_layers: int = 8
    mode: str = "off"
    predictor: str = ""        # type of predictors; the file for us is then another one than the peer's
    n: int = 0                 # tokens of a prompt
    kv: str = "f16"
    at_most: bool = False
    real: str = ""             # a published model instead

    def models(self, limit):
        """What its files have in common; `limit` is the most layers that are wanted, or None."""
        return (self.real or self.shape, min(self.layers, self.quick_layers, limit) if limit else self.layers, self.type)


def rows():
    made = []
    for kind, targets in (("share", (82, 78, 90, 93)), ("decode", (1.2, 1.35, 1.35, 1.1))):
        for type, target in zip(("q4_0", "q4_K_M", "q8_0", "f16"), targets):
            what = "share of read bandwidth" if kind == "share" else "vs llama.cpp"
            made.append(Row(f"dense-{type}-{kind}", f"dense decode {type.upper()}, {what}", kind,
                            target / 100 if kind == "share" else target, type, layers=16 if type == "f16" else 32))
    for shape, target in (("llama-7b", 2.2), ("mistral-7b", 2.8)):
        made.append(Row(f"predict-{shape}", f"`predict`, 90 % sparse, Q4_0, {shape} shape, vs llama.cpp dense", "decode", target,
                        shape=shape, layers=32, mode="predict", predictor="q4_0"))
    made.append(Row("predict-f16", "`predict`, 90 % sparse, F16 weights, quantised predictor, vs llama.cpp dense", "decode", 2.0,
                    "f16", layers=16, mode="predict", predictor="q4_0"))
    made.append(Row("exact", "`exact`, 90 % sparse, Q4_0, vs llama.cpp dense", "decode", 1.6, layers=32, mode="exact"))
    made.append(Row("exact-by-neuron", "the same on a file with a transposed down projection", "decode", 1.6, layers=32, mode="exact",
                    predictor="q4_0"))
    for n in (128, 512):
        for type, target in (("q4_0", 1.6), ("q4_K_M", 1.9), ("q8_0", 1.6)):
            made.append(Row(f"prompt-{n}-{type}", f"prompt of {n}, dense {type.upper()}, vs llama.cpp", "prompt", target, type, n=n))
    for n in (128, 512):
        made.append(Row(f"prompt-{n}-predict", f"prompt of {n}, `predict` 90 % sparse, Q4_0, vs our own dense", "predict-prompt", 1.5,
                        mode="predict", predictor="q4_0", n=n))
    for type in ("q4_0", "q4_K_M", "q6_K"):
        made.append(Row(f"four-{type}", f"4 tokens at once vs 1, {type.upper()}, time", "batch", 1.4, type, at_most=True))
    for kv in ("f16", "q8_0"):
        made.append(Row(f"context-{kv}", f"decode with 4,096 tokens of context vs 128, {kv.upper()} KV: added time / (KV bytes / bandwidth)",
                        "context", 1.25, quick_layers=4, kv=kv, at_most=True))
    made.append(Row("scaling", "2 threads vs 1, prompt of 128, share of the scaling of an FMA loop", "scaling", 0.95, n=128))
    for kind, n, target in (("decode", 0, 1.2), ("prompt", 512, 1.4)):
        made.append(Row(f"smollm2-{kind}", f"SmolLM2-135M Q4_1, {kind + (f' of {n}' if n else '')}, vs llama.cpp", kind, target,
                        type="q4_1", n=n, real="SmolLM2-135M"))
    return made


@dataclass
class Result:
    value: float = 0
    low: float = 0
    high: float = 0
    ceiling: float = 0
    floor: str = ""
    floors_s: list = field(default_factory=list)
    ours_s: list = field(default_factory=list)
    peer_s: list = field(default_factory=list)
    bandwidth: list = field(default_factory=list)
    hash: str = ""
    off_hash: str = ""
    note: str = ""
    busy: float = 0            # share of the processors that others took before or after
    tokens: int = 1            # per sample, for tokens/s


def gb(n):
    return f"{n / 1e9:.2f} GB" if n >= 1e8 else f"{n / 1e6:.1f} MB"


def model_bytes(shape, layers, type, predictor=""):
    d, ff, kv, vocab = SHAPES[shape]
    weights = layers * (2 * d * d + 2 * d * kv + 3 * d * ff) + 2 * d * vocab
    return weights * BYTES_PER_WEIGHT[type] + (layers * (d + ff) * 1024 * BYTES_PER_WEIGHT[predictor] if predictor else 0)


class Comparison:
    def __init__(self, args, folder, children):
        self.args, self.folder, self.children = args, folder, children
        self.ours = Ours(children, args.program, args.threads)
        self.started = time.monotonic()
        self.files, self.peer, self.pairs = {}, None, {}
        self.best, self.tuned = None, {}
        self.peer_info = {}
        self.isa = ""
        self.others = []

    def say(self, text):
        print(f"[{time.monotonic() - self.started:5.0f} s] {text}", file=sys.stderr, flush=True)

    def busy_with_others(self):
        """How busy the processors are while nothing of ours runs."""
        def ticks():
            with open("/proc/stat") as f:
                t = list(map(int, f.readline().split()[1:9]))
            return sum(t), sum(t) - t[3] - t[4]
        if not os.path.exists("/proc/stat"):
            return 0
        before = ticks()
        time.sleep(0.5)
        after = ticks()
        self.others.append((after[1] - before[1]) / max(after[0] - before[0], 1))
        return self.others[-1]

    # Models -----------------------------------------------------------------------------------------------------------

    def file(self, row, predictor=""):
        """The ordinary GGUF file of a row, or that with predictors; made when first asked for."""
        shape, layers, type = row.models(self.args.layers)
        if row.real:
            return row.real
        key = (shape, layers, type, predictor)
        if key not in self.files:
            path = os.path.join(self.folder, f"{shape}-{layers}-{type}{'-predictors' if predictor else ''}.gguf")
            self.say(f"making {os.path.basename(path)}, {gb(model_bytes(*key))}")
            self.ours.run("synth", f"{shape},n_layer={layers}", "--synth-type", type, "-o", path,
                          *(["--predictor-type", predictor] if predictor else ["--no-predictors"]))
            os.sync()  # no writing back while something is measured
            self.files[key] = path
        return self.files[key]

    def forget_models(self):
        self.close_peer()
        for path in self.files.values():
            os.unlink(path)
        self.files.clear()
        self.pairs.clear()

    # Peer -------------------------------------------------------------------------------------------------------------

    def close_peer(self):
        if self.peer:
            self.peer.close()
            self.peer = None

    def open_peer(self, model, settings):
        if self.peer and self.peer.model == model and self.peer.settings == settings:
            return self.peer
        self.close_peer()
        self.peer = Peer(self.children, model, settings, os.path.join(self.folder, "peer.log"))
        self.peer_info = self.peer.info
        return self.peer

    def settings(self, model, type, for_prompts):
        """The best of a few settings: all of them on the first model, repacking again on every other type."""
        base = dict(BASE, threads=self.args.threads)
        if self.args.no_tune:
            return base
        if type not in self.tuned:
            first = self.best is None
            changes = [{}, {"repack": False}]
            if first:
                changes += [{"flash": False}, {"ubatch": 128}, {"poll": 100}]
            start = self.best or {"decode": base, "prompt": base}
            tried = []
            for change in changes:
                peer = self.open_peer(model, {**start["decode"], "ubatch": start["prompt"]["ubatch"], **change})
                decode = min(peer.step_s(8) for _ in range(2))
                prompt = min(peer.prompt_s(256 if first else 128) for _ in range(1))
                tried.append((peer.settings, decode, prompt))
                self.say(f"peer with {settings_text(peer.settings)}: {1 / decode:.2f} tokens/s, prompt {prompt:.2f} s")
            # Less than 3 % is noise, and the usual setting comes first.
            pick = lambda i: min(tried, key=lambda t: t[i] * (1.0 if t is tried[0] else 1.03))[0]
            self.tuned[type] = {"decode": pick(1), "prompt": pick(2)}
            if first:
                self.best = self.tuned[type]
        return self.tuned[type]["prompt" if for_prompts else "decode"]

    # Pairs ------------------------------------------------------------------------------------------------------------

    def off_hash(self, model, *words):
        return self.ours.bench(model, *words, "--no-bandwidth", "--no-warmup", repetitions=1)[0]["hash"]

    def n_gen(self, row):
        return 64 if row.real else 16 if row.models(self.args.layers)[1] > 8 else 32

    def words(self, row):
        return ["-p", row.n, "-n", 0] if row.n else ["-p", 0, "-n", self.n_gen(row), "-d", 8]

    def pair(self, row):
        """Both sides in turn. Rows that want the same pair share it."""
        plain, mine = self.file(row), self.file(row, row.predictor)
        key = (plain, mine, row.mode, row.n)
        if key in self.pairs:
            return self.pairs[key]
        peer = self.open_peer(plain, self.settings(plain, row.type, row.n > 0))
        r, blocks = Result(tokens=row.n or 1), []
        for samples in ROUNDS:
            theirs = [peer.prompt_s(row.n) if row.n else peer.step_s(self.n_gen(row)) for _ in range(samples)]
            one = self.ours.bench(mine, *self.words(row), "--fma" if row.n else "--no-fma", mode=row.mode, repetitions=samples)[0]
            self.keep(r, one, row)
            blocks.append(median(theirs) / median(seconds(one)))
            r.peer_s += theirs
        r.value, r.low, r.high = median(r.peer_s) / median(r.ours_s), min(blocks), max(blocks)
        r.hash = one["hash"]
        r.off_hash = r.hash if row.mode == "off" else self.off_hash(mine, *self.words(row))
        r.ceiling = median(map(operator.truediv, r.peer_s, r.floors_s))
        if row.mode == "exact":
            same = self.ours.text(mine, "exact") == self.ours.text(mine, "off")
            r.note = "text equal to `off`" if same else "TEXT DIFFERS FROM `off`"
        self.pairs[key] = r
        return r

    def keep(self, r, one, row):
        """A block of ours: its samples, its bandwidth, its floor. A step of several tokens is a prompt to the floor."""
        n, samples, self.isa = row.n or one["n_parallel"], len(one["samples_ns"]), one["isa"]
        # Long prompts run in pieces that read weights again; the floor is to read them once.
        n_bytes = min(one["bytes_per_pass"], one["model_size"])
        r.floor, floor_s = gb(n_bytes), n_bytes / 1e9 / one["read_gb_per_s"]
        if n > 1:
            operations = self.operations(row, n, one)
            r.floor += f", {operations / 1e12:.3g} Tops"
            peak = one["fma_gflops"] * 1e9 * (1 if row.type == "f16" else INTEGER_RATE.get(self.isa, 1.0))
            floor_s = max(floor_s, operations / peak)
        r.ours_s += seconds(one)
        r.bandwidth += [one["read_gb_per_s"] * 1e9] * samples
        r.floors_s += [floor_s] * samples

    def operations(self, row, n, one):
        """Of n tokens in one pass; logits of one token."""
        shape, layers, _ = row.models(self.args.layers)
        if row.real:
            return 2.0 * one["model_n_params"] * n  # about: its embedding is its output matrix
        selected, active = one["selected_share"], one["active_share"]
        d, ff, kv, vocab = SHAPES[shape]
        predictor = (d + ff) * 1024 if row.mode == "predict" else 0
        per_layer = 2 * d * d + 2 * d * kv + predictor + d * ff * (selected + 2 * active) + d * n  # attention: n/2 x 2
        return 2.0 * (n * layers * per_layer + d * vocab)

    # Kinds of rows ----------------------------------------------------------------------------------------------------

    def share(self, row):
        pair = self.pair(row)
        shares = list(map(operator.truediv, pair.floors_s, pair.ours_s))
        r = Result(**{**vars(pair), "value": median(shares), "low": min(shares), "high": max(shares), "ceiling": 1.0})
        if r.value > 1:
            r.note = "above 100 %: the bandwidth measurement is wrong"
        return r

    decode = prompt = pair

    def predict_prompt(self, row):
        plain, mine = self.file(row), self.file(row, row.predictor)
        r, blocks = Result(tokens=row.n), []
        for samples in ROUNDS:
            dense = self.ours.bench(plain, *self.words(row), "--no-bandwidth", repetitions=samples)[0]
            one = self.ours.bench(mine, *self.words(row), "--fma", mode="predict", repetitions=samples)[0]
            self.keep(r, one, row)
            r.peer_s += seconds(dense)
            blocks.append(median(seconds(dense)) / median(seconds(one)))
        r.value, r.low, r.high = median(r.peer_s) / median(r.ours_s), min(blocks), max(blocks)
        r.hash, r.off_hash = one["hash"], self.off_hash(mine, *self.words(row))
        r.note = "peer: our own dense"
        r.ceiling = median(map(operator.truediv, r.peer_s, r.floors_s))
        return r

    def batch(self, row):
        model, n = self.file(row), self.n_gen(row)
        r, blocks = Result(tokens=4), []
        for samples in ROUNDS:
            one, four = self.ours.bench(model, "-p", 0, "-n", n, "-d", 8, "-npl", "1,4", "--fma", repetitions=samples)
            self.keep(r, four, row)
            r.peer_s += seconds(one)
            blocks.append(median(seconds(four)) / median(seconds(one)))
        r.value, r.low, r.high = median(r.ours_s) / median(r.peer_s), min(blocks), max(blocks)
        r.hash = r.off_hash = four["hash"]
        r.note = "peer: our own single tokens"
        r.ceiling = median(map(operator.truediv, r.floors_s, r.peer_s))
        return r

    def context(self, row):
        model = self.file(row)
        try:
            self.ours.bench(model, "-p", 0, "-n", 1, "-ctk", row.kv, "-ctv", row.kv, "--no-bandwidth", repetitions=1)
        except Failed:
            return Result(note=f"not available: no {row.kv.upper()} cache yet")
        n = self.n_gen(row)
        before, deep, after = self.ours.bench(model, "-p", 0, "-n", n, "-d", "128,4096,128", "-ctk", row.kv, "-ctv", row.kv,
                                              repetitions=sum(ROUNDS))
        r = Result()
        for one in (before, deep, after):
            r.bandwidth.append(one["read_gb_per_s"] * 1e9)
        shape, layers, _ = row.models(self.args.layers)
        kv_bytes = (4096 - 128) * layers * 2 * SHAPES[shape][2] * BYTES_PER_WEIGHT[row.kv]
        r.ours_s, r.peer_s = seconds(deep), seconds(before) + seconds(after)
        read_s = kv_bytes / median(r.bandwidth)
        added = [s - median(r.peer_s) for s in r.ours_s]
        r.value, r.low, r.high = median(added) / read_s, min(added) / read_s, max(added) / read_s
        r.floor, r.floors_s, r.ceiling = f"{gb(kv_bytes)} of KV", [median(r.peer_s) + read_s] * len(r.ours_s), 1.0
        r.hash = r.off_hash = deep["hash"]
        r.note = "peer: our own at 128"
        return r

    def scaling(self, row):
        model, many = self.file(row), self.args.threads
        r, shares, fma = Result(tokens=row.n), [], {}
        for samples in ROUNDS:
            single, multi = self.ours.bench(model, *self.words(row), "-t", f"1,{many}", "--fma", repetitions=samples)
            self.keep(r, multi, row)
            for one in (single, multi):
                fma.setdefault(one["n_threads"], []).append(one["fma_gflops"])
            r.peer_s += seconds(single)
            shares.append(median(seconds(single)) / median(seconds(multi)) / (multi["fma_gflops"] / single["fma_gflops"]))
        r.value, r.low, r.high, r.ceiling = median(shares), min(shares), max(shares), 1.0
        r.hash, r.off_hash = multi["hash"], single["hash"]
        r.note = (f"peer: our own with 1 thread; FMA {median(fma[1]):.0f} and {median(fma[many]):.0f} GFLOP/s; "
                  f"the second hash is that of 1 thread")
        return r


def speed(samples, tokens):
    if not samples:
        return "-"
    rates = sorted(tokens / s for s in samples)
    digits = 0 if rates[-1] >= 100 else 1 if rates[-1] >= 20 else 2
    return f"{median(rates):.{digits}f} [{rates[0]:.{digits}f}..{rates[-1]:.{digits}f}]"


def number(row, value):
    if row.kind in ("share", "scaling"):
        return f"{100 * value:.0f} %"
    return f"{value:.2f}{'' if row.at_most else 'x'}"


def line(row, r, limit):
    _, layers, _ = row.models(limit)
    case = row.case + ("" if row.real else f", {layers} layers")
    if not r.ours_s:
        return {"case": case, "met": r.note}
    reached = r.value <= row.target if row.at_most else r.value >= row.target
    beyond = r.ceiling > row.target if row.at_most else r.ceiling < row.target
    met = "yes" if reached and "DIFFERS" not in r.note and "wrong" not in r.note else "no"
    if r.busy > QUIET:
        met = f"not decided: the machine was busy ({met})"
    return {
        "case": case, "floor": r.floor, "bandwidth": f"{median(r.bandwidth) / 1e9:.0f} GB/s [{min(r.bandwidth) / 1e9:.0f}..{max(r.bandwidth) / 1e9:.0f}]",
        "predictor": f"rank 1024, {row.predictor.upper()}" if row.predictor else "-",
        "ours, tokens/s": speed(r.ours_s, r.tokens), "peer, tokens/s": speed(r.peer_s, 1 if row.kind in ("batch", "context") else r.tokens),
        "result": f"{number(row, r.value)} [{number(row, r.low)}..{number(row, r.high)}]",
        "target": ("<= " if row.at_most else ">= ") + number(row, row.target), "ceiling": number(row, r.ceiling),
        "met": met + (" (target above the ceiling)" if beyond else ""), "limit": f"{100 * median(map(operator.truediv, r.floors_s, r.ours_s)):.0f} %",
        "hash": r.hash if r.hash == r.off_hash else f"{r.hash} / {r.off_hash}", "note": r.note,
    }


COLUMNS = ("case", "floor", "bandwidth", "predictor", "ours, tokens/s", "peer, tokens/s", "result", "target", "ceiling", "met",
           "limit", "hash", "note")


def find_real(name):
    folder = os.environ.get("POWERINFER_REAL_MODELS", "")
    files = sorted(os.listdir(folder)) if folder and os.path.isdir(folder) else []
    return next((os.path.join(folder, f) for f in files if f.startswith(name) and f.endswith("Q4_1.gguf")), None)


def disk_need(chosen, limit):
    """Bytes of the largest set of files that lie there at the same time."""
    sets = {}
    for row in chosen:
        if not row.real:
            key = row.models(limit)
            sets.setdefault(key, set()).update({(*key, ""), (*key, row.predictor)})
    return max((sum(model_bytes(*f) for f in files) for files in sets.values()), default=0)


def arguments():
    p = argparse.ArgumentParser(prog="bench/compare.sh", description="Compares with llama.cpp on this machine.")
    p.add_argument("--quick", action="store_true", help="at most 8 layers, at most 20 minutes on two quiet cores")
    p.add_argument("--only", metavar="REGEX", default="", help="rows whose name matches")
    p.add_argument("--list", action="store_true", help="print the names of the rows")
    p.add_argument("--json", metavar="FILE", help="write every sample there")
    p.add_argument("--layers", type=int, metavar="N", help="at most N layers of each model; --quick means 8")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--tmp", metavar="FOLDER", default=None, help="where the models lie meanwhile")
    p.add_argument("--no-tune", action="store_true", help="the peer's usual settings, without trying others")
    p.add_argument("--program", default="build/bin/powerinfer", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.threads < 2 or (args.layers or 1) < 1:
        p.error("--threads must be at least 2 and --layers at least 1")
    if args.quick:
        args.layers = min(args.layers or 8, 8)
    return args


def compare(args, chosen, folder, children, version):
    c = Comparison(args, folder, children)
    need, free = disk_need(chosen, args.layers), shutil.disk_usage(folder).free
    if need * 1.02 + 1e8 > free:
        raise Failed(f"the models need {gb(need)} in {folder}, where {gb(free)} are free; --tmp names another folder")
    c.say(f"{len(chosen)} rows, models in {folder}, at most {gb(need)} at a time")
    done, skipped = {}, {}
    while pending := [r for r in chosen if r.name not in done]:
        group = pending[0].models(args.layers)
        for row in [r for r in pending if r.models(args.layers) == group]:
            if row.real:
                path = find_real(row.real)
                if not path:
                    done[row.name] = Result(note="not run: POWERINFER_REAL_MODELS names no folder with " + row.real)
                    continue
                row.real = path
            c.say(row.name)
            before = c.busy_with_others()
            r = done[row.name] = getattr(c, row.kind.replace("-", "_"))(row)
            r.busy = max(r.busy, before, c.busy_with_others())
            c.say(f"{row.name}: {number(row, r.value) if r.ours_s else '-'} {r.note}")
        c.forget_models()
    lines = [line(r, done[r.name], args.layers) for r in chosen]
    print(f"powerinfer {c.ours.run('--version').splitlines()[0].removeprefix('version: ')}, kernels {c.isa}, "
          f"{args.threads} threads, {platform.machine()}\n"
          f"llama.cpp of xllamacpp {version}, {args.threads} threads; {c.peer_info.get('info', '-')} "
          f"compiled by {c.peer_info.get('compiler') or '-'}")
    for type, best in c.tuned.items():
        print(f"  {type.upper()}: decoding with {settings_text(best['decode'])}; prompts with {settings_text(best['prompt'])}")
    if args.no_tune:
        print(f"  {settings_text(BASE)}")
    if c.others:
        print(f"Other processes, and the host, took {100 * median(c.others):.0f} % of the processors' time [{100 * min(c.others):.0f}.."
              f"{100 * max(c.others):.0f}] while nothing of this comparison ran.")
    print()
    print("| " + " | ".join(COLUMNS) + " |\n|" + " --- |" * len(COLUMNS))
    for cells in lines:
        print("| " + " | ".join(cells.get(k, "-") or "-" for k in COLUMNS) + " |")
    print("\n" + NOTES.format(samples=sum(ROUNDS), rounds=", ".join(map(str, ROUNDS)), factor=INTEGER_RATE.get(c.isa, 1.0)))
    print(f"\nThe whole took {time.monotonic() - c.started:.0f} s.")
    if args.json:
        with open(args.json, "w") as f:
            json.dump({"xllamacpp": version, "peer": c.peer_info, "settings": c.tuned, "threads": args.threads, "isa": c.isa,
                       "rows": [{"name": r.name, **cells, "data": vars(done[r.name])} for r, cells in zip(chosen, lines)]}, f, indent=1)
            f.write("\n")


def main():
    args = arguments()
    try:
        chosen = [r for r in rows() if re.search(args.only, r.name)]
    except re.error as e:
        return f"--only '{args.only}' is not a regular expression: {e}"
    if args.list:
        print("\n".join(f"{r.name:24} {r.case}" for r in chosen))
        return None
    if not chosen:
        return f"no row's name matches '{args.only}'; --list prints the names"
    try:
        version = importlib.metadata.version("xllamacpp")
    except importlib.metadata.PackageNotFoundError:
        return "The comparison needs the llama.cpp of the Python package xllamacpp: python3 -m pip install xllamacpp"
    folder, children = tempfile.mkdtemp(prefix="powerinfer-compare-", dir=args.tmp), Children()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.default_int_handler)
    try:
        compare(args, chosen, folder, children, version)
    except Failed as e:
        return f"error: {e}"
    except KeyboardInterrupt:
        return "interrupted; nothing is left behind"
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # an impatient second Ctrl-C would leave files
        children.end_all()
        shutil.rmtree(folder, ignore_errors=True)
    return None


if __name__ == "__main__":
    sys.exit(main())
