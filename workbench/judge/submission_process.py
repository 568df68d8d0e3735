"""The processes that run submissions.

    python -m workbench.judge.submission_process REQUESTS ANSWERS

The numbers are files. It loads PyTorch and the device once, forks for each submission, and encloses the
fork. The fork imports the submission, says so, and only then gets inputs: one call after the other, each by
a line of JSON in a pipe of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Any

_LAST = 2000
"""Characters of a traceback that an answer has."""

Call = Callable[[Any], Any]


def main(arguments: Sequence[str]) -> None:
    """Serves until the requests end."""
    parser = argparse.ArgumentParser()
    parser.add_argument("requests", type=int)
    parser.add_argument("answers", type=int)
    options = parser.parse_args(arguments)
    _load()
    with (
        os.fdopen(options.requests, encoding="utf-8") as requests,
        os.fdopen(options.answers, "w", encoding="utf-8") as answers,
    ):
        print(json.dumps({"ready": True}), file=answers, flush=True)
        for line in requests:
            request = json.loads(line)
            child = os.fork()
            if child == 0:
                # It is not to see what others' forks get.
                os.close(requests.fileno())
                os.close(answers.fileno())
                try:
                    _serve(request)
                finally:
                    os._exit(1)
            print(json.dumps({"process": child}), file=answers, flush=True)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _load() -> None:
    """Imports what every submission needs; no thread may be started, so nothing large is computed."""
    from workbench.runtime.registry import make_first

    # Before anything asks for devices: code that asks HIP gets number 0.
    make_first()
    import torch  # Opens the door to the device.

    from workbench.emulator.native import native_library
    from workbench.emulator.node.device import node
    from workbench.emulator.translate import translator  # noqa: F401
    from workbench.judge.enclosure import has_namespaces
    from workbench.judge.recorder import HostOperators

    with HostOperators():
        # The first operator that is counted imports 800 modules of PyTorch, which takes a second.
        torch.empty(1)
    node()
    native_library()
    _state["namespaces"] = has_namespaces()


def _serve(request: dict[str, Any]) -> None:
    """Runs one submission in this process, a fork."""
    from workbench.judge.enclosure import enclose, end_with_parent

    os.setsid()
    # The judge may be killed; its fork server then ends, for want of requests.
    end_with_parent()
    folder = Path(request["folder"])
    commands = open(folder / "calls", encoding="utf-8")  # noqa: SIM115 - until the process ends
    answers = open(folder / "answers", "w", encoding="utf-8")  # noqa: SIM115
    log = os.open(folder / "log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    enclosure = enclose(folder / "own", request["enclosed"] and _state["namespaces"])
    _say(answers, {"enclosure": vars(enclosure)})
    from workbench.judge.recorder import HostOperators, Recorder

    work = folder / "own"
    os.chdir(work)
    os.environ.update(TORCH_EXTENSIONS_DIR=str(work / "built"), TMPDIR=str(work), HOME=str(work))
    recorder = Recorder(work)
    _say(answers, _tried(lambda: _imported(request)))
    held: Any = None
    for line in commands:
        command = json.loads(line)
        if "begin" in command:
            _say(answers, _tried(partial(_begun, request, work / command["begin"])))
            continue
        number = command["call"]

        def call(command: dict[str, Any] = command, number: int = number) -> dict[str, Any]:
            nonlocal held
            from workbench.judge.exchange import read

            file = work / f"inputs-{number}"
            if held is None or not command["reuse"] or not held.overwrite(file):
                held = read(file)
            operators = HostOperators()
            recorder.begin(number, held.storages)
            with operators:
                output = _state["call"](held.value)
            recorder.end(output, operators.counts)
            return {"done": number}

        _say(answers, _tried(call))
    os._exit(0)


_state: dict[str, Any] = {}


def _tried(function: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        return function()
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        return {"error": f"{type(error).__name__}: {error}"[:_LAST], "trace": text[-_LAST:]}


def _say(answers: IO[str], answer: dict[str, Any]) -> None:
    print(json.dumps(answer), file=answers, flush=True)


def _imported(request: dict[str, Any]) -> dict[str, Any]:
    form, file = request["form"], Path(request["folder"]) / "own" / request["file"]
    if form == "plain":
        _state["plain"] = _compiled(file, request)
        return {"imported": True}
    sys.path.insert(0, str(file.parent))
    module = _module(file)
    name = "custom_kernel" if form == "gpumode" else "ModelNew"
    function = getattr(module, name, None)
    if not callable(function):
        raise AttributeError(f"{request['file']} has no {name}")
    _state["function"] = function
    if form == "gpumode":
        _state["call"] = function
    return {"imported": True}


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("submission", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["submission"] = module
    spec.loader.exec_module(module)
    return module


def _begun(request: dict[str, Any], file: Path) -> dict[str, Any]:
    """Makes what calls need of what a case has: a model with its parameters, or a launch."""
    from workbench.judge.exchange import read

    case = read(file).value
    if request["form"] == "kernelbench":
        import torch

        torch.manual_seed(case["seed"])
        model = _state["function"](*case["init"])
        parameters = model.state_dict()
        if parameters.keys() == case["state"].keys():
            model.load_state_dict(case["state"])
        model.eval()

        def forward(inputs: Any) -> Any:
            with torch.no_grad():
                return model(*inputs)

        _state["call"] = forward
    elif request["form"] == "plain":
        launcher = _state["plain"][case["kernel"]][case["grid"], case["block"], case["shared"]]
        outputs = case["outputs"]

        def launch(inputs: Any) -> Any:
            launcher(**inputs)
            return {name: inputs[name] for name in outputs}

        _state["call"] = launch
    return {"begun": True}


def _compiled(file: Path, request: dict[str, Any]) -> Any:
    from workbench.kernel.compilation import compile_source
    from workbench.runtime import device
    from workbench.toolchain import CompileOptions

    compilation = dict(request["compilation"])
    include = [str(file.parent), *compilation.pop("include", ())]
    options = CompileOptions(device().arch, name=file.name, include=include, **compilation)
    return compile_source(file.read_text(encoding="utf-8"), options)


if __name__ == "__main__":
    main(sys.argv[1:])
