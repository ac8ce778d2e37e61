"""llama.cpp's OpenAI-compatible server as a process: `python serve_openai.py --port P --model FILE`."""

import argparse
import importlib
import signal
from typing import Any, cast


def main() -> None:
    """Serve until SIGTERM."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--alias", default="model")
    parser.add_argument("--n-ctx", type=int, default=4096)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    llama = cast(Any, importlib.import_module("xllamacpp"))  # compiled, without type stubs
    parameters = llama.CommonParams()
    parameters.model.path = options.model
    parameters.model_alias = [options.alias]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = options.port
    parameters.n_ctx = options.n_ctx
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = options.threads
    parameters.sampling.seed = options.seed
    parameters.sampling.temp = 0.0
    server = llama.Server(parameters)
    print(f"serving at {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    main()
