"""`python -m workbench`: checks of the machine, and the kernel library from a shell."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from workbench.errors import UsageError, WorkbenchError
from workbench.paths import kernels_dir
from workbench.targets import TILE_TARGETS

_EXEC_USAGE = (
    "python -m workbench exec [--device DEVICE] [--driver] [--sanitize] [--counters] [--clock CLOCK] "
    "[--json FILE] [--quiet] -- PROGRAM [ARGUMENT ...]"
)
_EXEC = "run a program, a Python script or a C++ source, with all its child processes, on the emulated device"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _command(commands: Any, name: str, help: str, **options: Any) -> argparse.ArgumentParser:
    """Adds a command, whose own help begins with what the list of commands says of it."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=_sentence(help), **options
    )
    return parser


def commands(first: str = "") -> argparse.ArgumentParser:
    """The parser of `python -m workbench`, with one subparser per command.

    Args:
        first: first word of the command line: operations are left out if it is another command's name, since
            their import takes a second.
    """
    parser = argparse.ArgumentParser(prog="python -m workbench", description=__doc__)
    # The package was imported before its `__main__` module.
    version = sys.modules["workbench"].__version__
    parser.add_argument("--version", action="version", version=f"hipkittens-workbench {version}")
    commands = parser.add_subparsers(dest="command", required=True)
    _command(
        commands,
        "doctor",
        help="check compiler, headers, HIP library and devices; say what is missing and how to install it",
    ).set_defaults(run=_doctor)
    listed = _command(commands, "devices", help="list the devices that can run kernels")
    listed.add_argument("--json", action="store_true", help="print JSON")
    listed.set_defaults(run=_devices)
    listed = _command(commands, "kernels", help="list the kernel library, or describe some of its kernels")
    listed.add_argument("names", nargs="*", metavar="NAME", help='"gemm/bf16", or a category such as "gemm"')
    listed.set_defaults(run=_kernels)
    disassembled = _command(
        commands,
        "disassemble",
        help="print the machine code of a code object, of a kernel's file or an operator",
    )
    disassembled.add_argument("file", type=Path, nargs="?", help="code object, C++ file, or operator's name")
    disassembled.set_defaults(run=_disassemble)
    cache_command = _command(commands, "cache", help="show the contents of the compilation cache")
    cache_command.add_argument("action", nargs="?", choices=["clear"], help="empty the cache")
    cache_command.set_defaults(run=_cache)
    new = _command(commands, "new", help="write a notebook with a kernel from a template")
    new.add_argument("template", nargs="?", help="name of the template; leave it out to list them")
    new.add_argument("file", nargs="?", help="the notebook to write; default: TEMPLATE.ipynb")
    new.set_defaults(run=_new)
    run = _command(commands, "run", help="verify and time kernels of the library")
    run.add_argument("names", nargs="+", metavar="NAME", help='"gemm/bf16", or a category such as "gemm"')
    run.add_argument("--device", help="MI355X, gfx942, gpu:0, ...; default: the default device")
    run.add_argument("--shapes", action="store_true", help="all shapes of the spec, not only the first")
    run.add_argument("--report", metavar="FILE", help="write the results to an HTML page")
    run.set_defaults(run=_run)
    _add_bench(commands)
    _command(
        commands,
        "hipcc",
        help="compile and link HIP sources as ROCm's hipcc does, for the emulated device",
        add_help=False,
    ).set_defaults(run=_hipcc)
    exchanged = _command(commands, "hipify", help="give CUDA sources HIP's names; list remaining work")
    exchanged.add_argument("files", nargs="+", metavar="FILE", help="C++ sources and headers of CUDA")
    exchanged.add_argument("--in-place", action="store_true", help="rewrite the files; default: print them")
    exchanged.set_defaults(run=_hipify)
    script = _command(
        commands,
        "install-hipcc",
        help="write a script named hipcc that runs the command above, for makefiles",
    )
    script.add_argument("folder", nargs="?", help="default: the programs of this Python's environment")
    script.set_defaults(run=_install_hipcc)
    _command(
        commands,
        "exec",
        help=_EXEC,
        usage=_EXEC_USAGE,
    ).set_defaults(run=_exec)
    _command(
        commands,
        "script",
        help="another name of exec for a Python script: exec -- python FILE",
        usage="python -m workbench script [--device DEVICE] (FILE | -m MODULE) [ARGUMENT ...]",
    ).set_defaults(run=_script)
    _command(
        commands,
        "sanitize",
        help="run a program and look for races, missing waits and similar faults in every launch of it or of "
        "its children, or in the launch of a C++ file or an operator; exits with 1 if there are findings, "
        "with 2 if nothing was launched",
        usage="python -m workbench sanitize (PROGRAM [ARGUMENT ...] | FILE | OPERATOR) [--json]",
    ).set_defaults(run=_sanitize)
    _command(
        commands,
        "train",
        help="train a small language model on the kernels; needs transformers",
        add_help=False,
    ).set_defaults(run=_train)
    compared = _command(
        commands,
        "compatibility",
        help="list the public names in a checkout of HipKittens that are absent here; exits with 1 if any",
    )
    compared.add_argument("checkout", metavar="CHECKOUT", help="the folder that git clone made")
    compared.add_argument("--arch", help="gfx942 or gfx950; default: that of the checkout's tree of headers")
    compared.add_argument("--json", action="store_true", help="print JSON")
    compared.set_defaults(run=_compatibility)
    _add_audit(commands)
    _add_mcp(commands)
    _add_hardware(commands)
    keys = _command(
        commands,
        "certificates",
        help="make certificates for a Dask cluster of several machines (needs openssl)",
    )
    keys.add_argument("folder", metavar="FOLDER", help="folder for them and for Dask's configuration")
    keys.set_defaults(run=_certificates)
    if first not in commands.choices:
        _add_operations(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns 0 if all is well."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    parser = commands(next(iter(words), ""))
    # Everything that follows belongs to the program, even if it looks like one of our options.
    whole = words[:1] in (["hipcc"], ["train"], ["exec"]) or (
        words[:1] in (["script"], ["sanitize"]) and words[1:] not in ([], ["-h"], ["--help"])
    )
    whole = whole or (words[:1] == ["disassemble"] and len(words) > 1 and _is_kernel(*words[:2]))
    options = parser.parse_args(words[:1] if whole else words)
    options.words = words[1:]
    try:
        status: int = options.run(options)
        return status
    except WorkbenchError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        # `head` has read enough. Leave nothing to be flushed at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _is_kernel(verb: str, source: str) -> bool:
    """Whether a command that also takes programs or code objects gets an operator or a kernel's file."""
    from workbench.operations.launch_comment import SUFFIXES, says_its_launch
    from workbench.operations.notebook_cell import notebook_of

    path = Path(source)
    is_source = says_its_launch(path) or (verb == "disassemble" and path.suffix in SUFFIXES)
    is_source = is_source or notebook_of(source) is not None
    return is_source or (kernels_dir() / f"{source}.py").is_file()


def _operation(verb: str, words: Sequence[str]) -> int:
    from workbench.operations import command, operations

    operation = operations()[verb]
    return command.run(operation, command.parser(operation).parse_args(words))


def _add_operations(commands: Any) -> None:
    from workbench.operations import command, operations

    for operation in operations().values():
        if operation.name not in commands.choices:
            command.add(commands, operation)
    schema = _command(
        commands, "schema", help="print the JSON schema of an operation's arguments and outcome"
    )
    schema.add_argument("operation", choices=list(operations()), metavar="OPERATION", help="such as verify")
    schema.set_defaults(run=_schema)


def _schema(options: argparse.Namespace) -> int:
    from workbench.operations import operations

    operation = operations()[options.operation]
    schemas = {"arguments": operation.arguments_schema, "outcome": operation.outcome_schema}
    print(json.dumps(schemas, indent=1))
    return 0


def _add_bench(commands: Any) -> None:
    bench = _command(
        commands,
        "bench",
        help="time operators on published problems; compare with Triton, PyTorch and published figures",
    )
    bench.set_defaults(run=_bench)
    add = bench.add_argument
    add(
        "operators",
        nargs="*",
        metavar="NAME",
        help='such as "gemm/bf16", or a category such as "gemm"; default: all',
    )
    add("--shapes", nargs="+", metavar="SHAPE", help='"published" (default), "own", or m=64,n=128')
    add("--device", help="MI355X, gfx942, gpu:0, ...; default: the default device")
    add("--against", default="", help="what to compare with: triton and, on a GPU, pytorch, pytorch-compiled")
    add(
        "--out",
        metavar="DIR",
        help="folder for results.sqlite, .json, .md and index.html; a second run continues there",
    )
    add("--largest", type=float, metavar="N", help="leave out emulated problems of more operations")
    add("--cluster", help='"local", a number of processes, or the address of a Dask scheduler')
    add("--figures", action="store_true", help="add HipKittens' own figures, published and ours")
    add("--again", action="store_true", help="time problems again that --out already has")
    add("--compare", nargs=2, metavar=("OLD", "NEW"), help="compare two results instead of timing")
    add(
        "--fail-above",
        default="3%",
        metavar="PART",
        help="exit with 1 if a case became slower by more; default: 3%%",
    )


def _bench(options: argparse.Namespace) -> int:
    from workbench.bench import bench, compare_results
    from workbench.bench.command import parsed_cluster, parsed_shapes
    from workbench.bench.compare import percentage

    if options.compare:
        changes = compare_results(options.compare[0], options.compare[1], percentage(options.fail_above))
        print(changes)
        return 0 if changes.passed else 1
    result = bench(
        options.operators or None,
        shapes=parsed_shapes(options.shapes),
        device=options.device,
        against=[name for name in options.against.split(",") if name],
        out=options.out,
        cluster=parsed_cluster(options.cluster),
        figures=options.figures,
        again=options.again,
        log=lambda line: print(line, flush=True),
        **({} if options.largest is None else {"largest": options.largest}),
    )
    if options.out is None:
        print(result)
    else:
        from workbench.views.benchmark_page import write_all

        for path in write_all(result, options.out):
            print(f"wrote {path}")
    wrong = [row for row in result if row.failure and not row.failure.startswith("not run")]
    return 1 if wrong else 0


def _add_audit(commands: Any) -> None:
    parser = _command(
        commands,
        "audit",
        help="build and run the kernels of a checkout under the sanitizer; exits with 1 if there are wrong "
        "results or findings, with 2 if nothing could be run",
    )
    parser.set_defaults(run=_audit)
    add = parser.add_argument
    add("path", metavar="CHECKOUT|FOLDER|FILE", help="kernel sources, with their Makefiles if they have some")
    add("--target", choices=sorted(TILE_TARGETS), help="only this target; default: all that a source is for")
    add("--only", default="", metavar="TEXT", help="only sources with this text in their path")
    add(
        "--out",
        default="audit",
        metavar="FOLDER",
        help="folder for audit.json, audit.sarif and audit.html; a second run continues there",
    )
    add("--again", action="store_true", help="audit kernel sources again whose results are there")
    add("--jobs", type=int, default=1, metavar="N", help="kernel sources at a time; default: 1")
    add("--minutes", type=float, metavar="N", help="after these, begin no other kernel source")
    add(
        "--build-seconds",
        type=float,
        default=400,
        help="processor time of a build; default: %(default)g",
    )
    add(
        "--run-seconds",
        type=float,
        default=300,
        help="processor time of a run; default: %(default)g",
    )
    add(
        "--proof-seconds",
        type=float,
        default=180,
        help="wall time of the search for an order of waves and loads that changes the results of a kernel "
        "with a race or a missing wait; default: %(default)g",
    )
    add(
        "--memory",
        type=float,
        default=8,
        metavar="GIB",
        help="limit of the memory of a build or a run; default: %(default)g",
    )


def _audit(options: argparse.Namespace) -> int:
    from workbench.audit.command import audited
    from workbench.views.audit_page import write_page

    report = audited(options)
    print(report)
    folder = Path(options.out)
    page = write_page(report, folder / "audit.html")
    print(f"wrote {folder / 'audit.json'}, {folder / 'audit.sarif'} and {page}")
    return report.exit_status


def _add_mcp(commands: Any) -> None:
    parser = _command(
        commands,
        "mcp",
        help="serve the operations to agents by the Model Context Protocol; needs the package mcp",
    )
    parser.set_defaults(run=_mcp)
    add = parser.add_argument
    add(
        "--http",
        type=int,
        default=0,
        metavar="PORT",
        help="on this port of the loopback interface; default: stdio",
    )
    add("--seconds", type=float, default=300, help="wall time of one operation; default: %(default)g")
    add(
        "--memory", type=float, default=8, metavar="GIB", help="memory of one operation; default: %(default)g"
    )


def _mcp(options: argparse.Namespace) -> int:
    from workbench.mcp_server.command import serve

    return serve(options.http, options.seconds, int(options.memory * 2**30))


def _add_hardware(commands: Any) -> None:
    hardware = _command(
        commands,
        "hardware",
        help="compare an AMD GPU with the emulated device: bits, counters and times, in two files",
    )
    hardware.set_defaults(run=_hardware)
    add = hardware.add_argument
    add("operators", nargs="*", metavar="NAME", help='such as "gemm/bf16"; default all')
    add("--device", help="device to examine; default: the first GPU")
    add(
        "--out",
        default="hardware",
        metavar="PATH",
        help="write PATH.json and .html; a second run continues",
    )
    add("--quick", action="store_true", help="a first look, in 5 minutes")
    add("--minutes", type=float, help="largest number of minutes; default: 20, with --quick 5")
    add("--sections", nargs="+", default=(), metavar="NAME", help="only these sections")
    add("--compare", nargs="+", metavar="FILE", help="show reports side by side, without an examination")


def _hardware(options: argparse.Namespace) -> int:
    from workbench.hardware import Report, examine
    from workbench.hardware.report import sent_reports
    from workbench.views.hardware import write_page

    root = Path(options.out)
    if root.suffix in (".json", ".html"):
        root = root.with_suffix("")
    page = root.with_name(f"{root.name}.html")
    if options.compare:
        reports = [Report.read(path) for path in options.compare]
        arch = reports[0].head["arch"]
        beside = sent_reports(arch) if len(reports) == 1 else []
        print(f"wrote {write_page(page, *reports, *beside)}")
        return 0
    report_path = root.with_name(f"{root.name}.json")
    try:
        report = examine(
            options.device,
            report_path,
            quick=options.quick,
            minutes=options.minutes,
            operators=options.operators,
            sections=options.sections,
            log=lambda line: print(line, flush=True),
        )
    except KeyboardInterrupt:
        print(f"\nstopped; {report_path} has the results; the same command continues", file=sys.stderr)
        return 130
    print(report)
    print(f"wrote {report_path} and {write_page(page, report)}")
    return 1 if any(report.counts(name)["differ"] for name in report.sections) else 0


def _disassemble(options: argparse.Namespace) -> int:
    if not options.words:
        raise UsageError("disassemble: got no file; expected a code object, a C++ file or an operator's name")
    if _is_kernel("disassemble", options.words[0]):
        return _operation("disassemble", options.words)
    from workbench.codeobject.listing import code_objects, listing

    for arch, content in code_objects(options.file.read_bytes()):
        print(f"# {arch}")
        for line in listing(content):
            print(line)
    return 0


def _hipcc(options: argparse.Namespace) -> int:
    from workbench.runtime import device
    from workbench.toolchain.hipcc import main as hipcc

    return hipcc(options.words, lambda: device().arch)


def _hipify(options: argparse.Namespace) -> int:
    from workbench.kernel.files import read_file
    from workbench.toolchain.hipify import hipify
    from workbench.toolchain.source_text import source_text

    for name in options.files:
        result = hipify(source_text(read_file("hipify", name, "a C++ file")))
        if options.in_place:
            Path(name).write_text(result.source, encoding="utf-8")
        else:
            print(result.source, end="")
        print(f"{name}: {result}", file=sys.stderr)
    return 0


def _train(options: argparse.Namespace) -> int:
    from workbench.training.train import main as train

    return train(options.words)


def _exec(options: argparse.Namespace) -> int:
    return _run_program(options.words)


def _sanitize(options: argparse.Namespace) -> int:
    if options.words and _is_kernel("sanitize", options.words[0]):
        return _operation("sanitize", options.words)
    return _run_program(["--sanitize", "--", *options.words])


def _run_program(words: Sequence[str]) -> int:
    from workbench.execute.command import add_options, run_options

    parser = argparse.ArgumentParser(
        prog="python -m workbench exec", usage=_EXEC_USAGE, description=_sentence(_EXEC)
    )
    add_options(parser)
    return run_options(parser.parse_args(list(words)))


def _script(options: argparse.Namespace) -> int:
    from workbench.execute.command import script

    return script(options.words)


def _install_hipcc(options: argparse.Namespace) -> int:
    from workbench.toolchain.hipcc.script import install

    path = install(options.folder)
    print(f"wrote {path}")
    if path.parent.name == "bin":
        root = shlex.quote(str(path.parent.parent))
        print(f"For makefiles that use $(ROCM_PATH)/bin/hipcc: export ROCM_PATH={root}")
    return 0


def _doctor(_: argparse.Namespace) -> int:
    from workbench.doctor import doctor

    report = doctor(run=True)
    print(report)
    return 0 if report.ok else 1


def _kernels(options: argparse.Namespace) -> int:
    from workbench.operators import kernels
    from workbench.operators.description import describe

    if not options.names:
        return _list(options)
    for name in kernels.named(options.names):
        print(f"{name}\n\n{describe(kernels[name]).text}\n")
    return 0


def _compatibility(options: argparse.Namespace) -> int:
    from dataclasses import asdict

    from workbench import compatibility

    checkout = Path(options.checkout)
    comparisons = compatibility.compare(checkout, options.arch)
    if options.json:
        print(json.dumps([asdict(tree) for tree in comparisons], default=str, indent=1))
    else:
        print(compatibility.report(comparisons, checkout))
    return int(any(tree.arch and tree.absent for tree in comparisons))


def _devices(options: argparse.Namespace) -> int:
    return _operation("devices", ["--json"]) if options.json else _list(options)


def _list(options: argparse.Namespace) -> int:
    from workbench.views.listings import LISTINGS

    print(LISTINGS[options.command]())
    return 0


def _cache(options: argparse.Namespace) -> int:
    from workbench import cache

    if options.action != "clear":
        return _list(options)
    print(f"freed {cache.clear() / 2**20:,.1f} MiB")
    return 0


def _new(options: argparse.Namespace) -> int:
    from workbench.lab.templates import templates, write_notebook

    name = options.template
    if name is None:
        for template in templates().values():
            print(f"{template.name:12} {template.about}")
        return 0
    path = Path(options.file or f"{name}.ipynb")
    write_notebook(name, path)
    print(f"wrote {path}")
    return 0


def _certificates(options: argparse.Namespace) -> int:
    from workbench.bench.certificates import make_certificates

    configuration = make_certificates(options.folder)
    print(
        f"wrote {configuration}, and the certificates that it names. On each machine, with a copy of this\n"
        "folder at the same place (ca-key.pem stays here):\n"
        f"  export DASK_CONFIG={shlex.quote(str(configuration.parent))}\n"
        "  dask scheduler --protocol tls               # on one\n"
        "  dask worker tls://THAT-ONE:8786 --nworkers auto --nthreads 1\n"
        '  python -m workbench bench --cluster tls://THAT-ONE:8786  # or cluster="tls://..."'
    )
    return 0


def _run(options: argparse.Namespace) -> int:
    from workbench.check.verify import verify
    from workbench.operators import kernels
    from workbench.profile import sweep

    items: list[object] = []
    good = True
    for name in kernels.named(options.names):
        spec = kernels[name]
        shapes = spec.shapes if options.shapes else spec.shapes[:1]
        checked = verify(spec, shapes=shapes, device=options.device)
        timed = sweep(spec, shapes, device=options.device)
        good = good and checked.passed
        print(checked)
        print(timed)
        items += [f"# {name}", checked, timed]
    if options.report is not None:
        from workbench.views.html import report

        print(f"wrote {report(options.report, *items, title='Kernels: ' + ', '.join(options.names))}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
