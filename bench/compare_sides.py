"""The two sides of the comparison: processes that are started, asked for measurements, and ended.

Run as a program (`compare_sides.py MODEL SETTINGS`) this is the peer's process: it loads the model into llama.cpp's server
and answers one JSON line per request. The times are those that the server's C++ code takes; no Python runs per token.
"""
import json
import os
import signal
import statistics
import subprocess
import sys

BASE = {"flash": True, "repack": True, "ubatch": 512, "poll": 50}


class Failed(Exception):
    """One full sentence for people."""


def settings_text(settings):
    return (f"mmap, {'flash attention' if settings['flash'] else 'no flash attention'}, "
            f"{'repack' if settings['repack'] else 'no repack'}, ubatch {settings['ubatch']}, poll {settings['poll']}")


def serve(model, settings):
    """The peer's process."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever the library prints stays out of the answers
    import xllamacpp as x

    p = x.CommonParams()
    p.model.path = model
    p.n_ctx = 2048
    p.n_batch = 2048
    p.n_ubatch = settings["ubatch"]
    p.flash_attn_type = getattr(x.llama_flash_attn_type, "LLAMA_FLASH_ATTN_TYPE_" + ("ENABLED" if settings["flash"] else "DISABLED"))
    p.no_extra_bufts = not settings["repack"]
    p.load_mode = x.llama_load_mode.LLAMA_LOAD_MODE_MMAP
    for cpu in (p.cpuparams, p.cpuparams_batch):
        cpu.n_threads = settings["threads"]
        cpu.poll = settings["poll"]
    p.n_parallel = 1
    p.warmup = True
    p.fit_params = False
    p.cache_ram_mib = 0       # nothing is kept between requests
    p.n_ctx_checkpoints = 0
    p.port = 0
    server = x.Server(p)

    def complete(n_prompt, n_gen):
        answer = server.handle_completions({
            "prompt": [1] + [300 + i for i in range(n_prompt - 1)], "n_predict": n_gen, "ignore_eos": True,
            "cache_prompt": False, "temperature": 0, "samplers": ["top_k"], "top_k": 1})
        return (answer if isinstance(answer, dict) else json.loads(answer))["timings"]

    complete(8, 4)
    print(json.dumps({"info": x.get_system_info().strip(), "compiler": x.BUILD_INFO.get("compiler", "")}), file=answers, flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        t = complete(ask["prompt"], ask["gen"])
        # The first token comes out of the prompt; the clock of the others starts there.
        step = t["predicted_ms"] / 1e3 / (t["predicted_n"] - 1) if t["predicted_n"] > 1 else None
        if t["prompt_n"] != ask["prompt"] or t["predicted_n"] != ask["gen"]:
            raise SystemExit(f"asked for {ask}, the server did {t}")
        print(json.dumps({"prompt_s": t["prompt_ms"] / 1e3, "step_s": step}), file=answers, flush=True)


class Children:
    """Every process that runs, so that all of them can be ended."""

    def __init__(self):
        self.running = set()

    def start(self, command, **how):
        # A session of its own: Ctrl-C reaches this program alone, which then ends the others.
        child = subprocess.Popen(command, text=True, start_new_session=True, **how)
        self.running.add(child)
        return child

    def end(self, child):
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()
        self.running.discard(child)

    def end_all(self):
        for child in list(self.running):
            self.end(child)

    def output(self, command):
        child = self.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = child.communicate()
        self.running.discard(child)
        if child.returncode != 0:
            lines = [l for l in err.splitlines() if l.strip()]
            error = next((l for l in lines if l.startswith("error")), lines[-1] if lines else "no message")
            raise Failed(f"'{' '.join(command)}' ended with status {child.returncode}: {error}")
        return out


class Peer:
    """llama.cpp with one model loaded, waiting for requests."""

    def __init__(self, children, model, settings, log):
        self.children, self.model, self.settings = children, model, settings
        self.log = open(log, "w")
        self.child = children.start([sys.executable, os.path.abspath(__file__), model, json.dumps(settings)],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log)
        self.info = self.read()

    def read(self):
        line = self.child.stdout.readline()
        if not line:
            self.child.wait()
            with open(self.log.name, errors="replace") as f:
                last = f.read().strip().splitlines()[-3:]
            raise Failed(f"the peer ended while it had {self.model} loaded: {' / '.join(last)}")
        return json.loads(line)

    def ask(self, n_prompt, n_gen):
        self.child.stdin.write(json.dumps({"prompt": n_prompt, "gen": n_gen}) + "\n")
        self.child.stdin.flush()
        return self.read()

    def step_s(self, n_gen):
        return self.ask(8, n_gen + 1)["step_s"]

    def prompt_s(self, n):
        return self.ask(n, 1)["prompt_s"]

    def close(self):
        self.children.end(self.child)
        self.log.close()


class Ours:
    """`powerinfer`, one process per block of measurements."""

    def __init__(self, children, program, threads):
        self.children, self.program, self.threads = children, program, threads

    def run(self, *words):
        return self.children.output([self.program, *map(str, words)])

    def bench(self, model, *words, mode="off", repetitions=2):
        """Rows of llama-bench's JSON."""
        words = list(words) if "-t" in words else [*words, "-t", self.threads]
        return json.loads(self.run("bench", "-m", model, "-o", "json", "-r", repetitions, "--sparsity", mode, *words))

    def text(self, model, mode):
        return self.run("run", "-m", model, "-p", "w5 w6 w7 w8", "-n", 32, "--temp", 0, "--ignore-eos", "--sparsity", mode,
                        "-t", self.threads)


def seconds(row):
    """Per step while decoding, per prompt otherwise."""
    passes = row["n_gen"] if row["n_prompt"] == 0 else 1
    return [ns / 1e9 / passes for ns in row["samples_ns"]]


def median(values):
    return statistics.median(list(values))


if __name__ == "__main__":
    serve(sys.argv[1], json.loads(sys.argv[2]))
