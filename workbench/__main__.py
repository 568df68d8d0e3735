"""`python -m workbench`: what the machine can do, and the kernel library run from a shell."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from workbench.errors import WorkbenchError


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; 0 where all is well."""
    parser = argparse.ArgumentParser(prog="python -m workbench", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "doctor", help="compiler, headers, HIP library, devices; what is missing and its remedy"
    )
    commands.add_parser("devices", help="the devices that kernels can run on")
    commands.add_parser("kernels", help="the kernel library")
    kept = commands.add_parser("cache", help="what is kept of earlier compilations")
    kept.add_argument("action", nargs="?", choices=["clear"], help="empty it")
    run = commands.add_parser("run", help="verify and time kernels of the library")
    run.add_argument("names", nargs="+", metavar="NAME", help='such as "gemm/bf16"')
    run.add_argument("--device", help='such as "emulated:gfx942"; the default device where it is not given')
    run.add_argument("--shapes", action="store_true", help="all shapes of the spec, not only the first")
    run.add_argument("--report", metavar="FILE", help="write a page of the results")
    chosen = parser.parse_args(arguments)
    try:
        if chosen.command == "doctor":
            return _doctor()
        if chosen.command in ("devices", "kernels"):
            return _list(chosen.command)
        if chosen.command == "cache":
            return _cache(chosen.action)
        return _run(chosen.names, chosen.device, chosen.shapes, chosen.report)
    except WorkbenchError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 2


def _doctor() -> int:
    from workbench.doctor import doctor

    report = doctor(run=True)
    print(report)
    return 0 if report.ok else 1


def _list(what: str) -> int:
    from workbench.views.listings import LISTINGS

    print(LISTINGS[what]())
    return 0


def _cache(action: str | None) -> int:
    from workbench import cache

    if action != "clear":
        return _list("cache")
    print(f"freed {cache.clear() / 2**20:,.1f} MiB")
    return 0


def _run(names: Sequence[str], device: str | None, all_shapes: bool, path: str | None) -> int:
    from workbench.check.verify import verify
    from workbench.profile import sweep
    from workbench.spec import kernels

    items: list[object] = []
    good = True
    for name in names:
        spec = kernels[name]
        shapes = spec.shapes if all_shapes else spec.shapes[:1]
        checked = verify(spec, shapes=shapes, device=device)
        timed = sweep(spec, shapes, device=device)
        good = good and checked.passed
        print(checked)
        print(timed)
        items += [f"# {name}", checked, timed]
    if path is not None:
        from workbench.views.html import report

        print(f"wrote {report(path, *items, title='Kernels: ' + ', '.join(names))}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
