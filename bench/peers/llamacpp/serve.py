#!/usr/bin/env python3
"""Runs llama.cpp's own HTTP server (the code of llama-server, built into the xllamacpp wheel) until it
is interrupted.

    python -m venv /tmp/peer && /tmp/peer/bin/pip install -r bench/peers/llamacpp/requirements.txt
    /tmp/peer/bin/python bench/peers/llamacpp/write_gguf.py models/tiny /tmp/tiny.gguf
    /tmp/peer/bin/python bench/peers/llamacpp/serve.py /tmp/tiny.gguf --port 8081
"""

import argparse
import os
import signal

import xllamacpp


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="GGUF file")
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--parallel", type=int, default=8, help="slots")
    parser.add_argument("--context", type=int, default=32768, help="tokens of a slot")
    parser.add_argument("--checkpoints", type=int, default=32, help="states kept a slot")
    parser.add_argument("--http-threads", type=int, default=-1,
                        help="requests at a time; -1: two more than slots")
    options = parser.parse_args()
    params = xllamacpp.CommonParams()
    params.model.path = options.model
    params.model_alias = {"llm"}
    params.port = options.port
    params.n_parallel = options.parallel
    params.n_ctx = options.context * options.parallel
    params.n_ctx_checkpoints = options.checkpoints
    params.n_threads_http = options.http_threads
    params.kv_unified = False
    params.cpuparams.n_threads = options.threads
    params.cpuparams_batch.n_threads = options.threads
    params.n_gpu_layers = 0
    params.use_jinja = True
    params.fit_params = False
    server = xllamacpp.Server(params)
    print(f"listening on {server.listening_address}", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})


if __name__ == "__main__":
    main()
