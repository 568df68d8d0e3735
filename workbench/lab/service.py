"""Answers to the JupyterLab extension's questions: state, names, machine code, completion.

Each comes from the modules that the notebook's variables hold, so nothing is stored twice.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench import magic_options
from workbench.errors import HistoryError, UnknownKernel, UsageError, WorkbenchError
from workbench.history import recorder
from workbench.lab import (
    clangd,
    completer,
    definition,
    formatting,
    inspector,
    inventory,
    plain_cell_kernels,
    reference,
)
from workbench.lab.runs import RUNS, recorded

if TYPE_CHECKING:
    from workbench.kernel import Kernels, Module
    from workbench.toolchain import CompileOptions

PROTOCOL = 1

ReadCell = Callable[[str], "tuple[str, CompileOptions]"]
"""Parser of a cell's text: the C++ in it, and its compile options."""

_BY_CLANGD = frozenset({"complete", "definition", "hover", "signatures"})
_BY_PROGRAMS = frozenset({"check", "format"})
"""Questions that start a program or read headers: the notebook's next cell does not wait for them.

Those to clangd have their own thread, so that typing never waits for a compiler.
"""

PATIENCE = 20.0
"""Seconds that clangd may take to answer the editor, which gives up earlier if the user types on."""


def _import_what_cells_need() -> None:
    """Imports, on the thread that runs cells, modules that background answers import too.

    Two threads that import mutually dependent modules in different orders see them half initialized.
    """
    import workbench.check.sanitizer
    import workbench.check.verify
    import workbench.kernel.compilation
    import workbench.lab.cell
    import workbench.toolchain.compilation
    import workbench.views.cell  # noqa: F401


class Service:
    """Answers the front end's questions about a notebook's variables.

    Attributes:
        namespace: the notebook's variables.
        read: returns the C++ text and compile options of the cell in the editor; None if unknown.
    """

    def __init__(self, namespace: Mapping[str, Any], read: ReadCell | None = None) -> None:
        self.namespace = namespace
        self.read = read
        self._programs = ThreadPoolExecutor(1, "hipkittens-editor")
        self._language = ThreadPoolExecutor(1, "hipkittens-clangd")
        # The previous module of each name, to show the differences.
        self._previous: dict[str, Module | Kernels] = {}
        self._seen: dict[str, Module | Kernels] = {}
        self._methods: dict[str, Callable[..., Any]] = {
            "state": self.state,
            "isa": self.isa,
            "complete": self.complete,
            "hover": self.hover,
            "signatures": self.signatures,
            "check": self.check,
            "definition": definition.definition,
            "format": formatting.formatted,
            "runs": self.runs,
            "reference_form": self.reference_form,
            "close_dashboard": self.close_dashboard,
        }

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Reply to one request; an exception becomes an error reply."""
        number = request.get("id")
        method = self._methods.get(str(request.get("method")))
        try:
            if method is None:
                raise UsageError(
                    f"unknown request {request.get('method')!r}; expected one of {', '.join(self._methods)}"
                )
            return {"id": number, "result": method(**dict(request.get("params") or {}))}
        except Exception as error:
            return {"id": number, "error": {"type": type(error).__name__, "message": str(error)}}

    def reply(self, request: Mapping[str, Any], send: Callable[[dict[str, Any]], None]) -> None:
        """Sends the reply to one request, later if it takes a moment."""
        method = request.get("method")
        if method not in _BY_CLANGD | _BY_PROGRAMS:
            send(self.answer(request))
            return

        _import_what_cells_need()

        def answer() -> None:
            # The page may have been closed in the meantime.
            with contextlib.suppress(Exception):
                send(self.answer(request))

        (self._language if method in _BY_CLANGD else self._programs).submit(answer)

    def refresh(self) -> bool:
        """Looks at the variables again; True if a module was bound, replaced or dropped."""
        modules = self.modules()
        changed = False
        for name, module in modules.items():
            old = self._seen.get(name)
            if old is not module:
                changed = True
                if old is not None and old.code != module.code:
                    self._previous[name] = old
        if set(self._seen) - set(modules):
            changed = True
        self._seen = modules
        return changed

    def modules(self) -> dict[str, Module | Kernels]:
        """Modules that the notebook's variables hold, by variable, and kernels of its plain cells."""
        kernel = sys.modules.get("workbench.kernel")
        if kernel is None:
            return {}
        return plain_cell_kernels.KERNELS | {
            name: value
            for name, value in list(self.namespace.items())
            if not name.startswith("_") and isinstance(value, (kernel.Module, kernel.Kernels))
        }

    def state(self) -> dict[str, Any]:
        """Devices, compiler, modules and the kernel library's names, as far as they are in use.

        Nothing is started for it: devices are listed once the notebook has used one.
        """
        self.refresh()
        return {
            "protocol": PROTOCOL,
            "devices": inventory.devices(),
            "compiler": inventory.compiler(),
            "modules": [
                {
                    "name": name,
                    "arch": module.arch,
                    "kernels": [inventory.kernel(kernel) for kernel in module.kernels.values()],
                    "previous": name in self._previous,
                }
                for name, module in self._seen.items()
            ],
            "specs": inventory.specs(),
            "options": list(magic_options.FLAGS),
            "functions": inventory.functions(),
        }

    def complete(self, text: str, line: int, column: int) -> dict[str, Any]:
        """Completions at a position of a cell, and the number of letters typed of them.

        Args:
            text: the whole cell.
            line, column: the place, from 0; columns in UTF-16 code units.

        Raises:
            TimeoutError, WorkbenchError: see `clangd.Clangd.complete`.
        """
        start, candidates = completer.complete(text, line, column, PATIENCE)
        return {"begun": len(start), "candidates": [asdict(candidate) for candidate in candidates]}

    def hover(self, text: str, line: int, column: int) -> dict[str, Any]:
        """Information on the name at a place, with an empty `text` if there is none; as `complete`."""
        answer = inspector.hover(text, line, column, PATIENCE)
        return asdict(answer) if answer is not None else {"text": ""}

    def signatures(self, text: str, line: int, column: int) -> dict[str, Any]:
        """Functions that the call around a place may mean, and which argument it is; as `complete`."""
        signatures, active = inspector.signatures(text, line, column, PATIENCE)
        return {"active": active, "signatures": [asdict(signature) for signature in signatures]}

    def check(self, text: str) -> dict[str, Any]:
        """The compiler's diagnostics of a cell in the editor; empty for one whose magic line is incomplete.

        Args:
            text: the whole cell.
        """
        # So that clangd has read the headers when the first question comes.
        with contextlib.suppress(TimeoutError, WorkbenchError):
            clangd.running().show(text, PATIENCE)
        if self.read is None:
            return {"diagnostics": []}
        from IPython.core.error import UsageError as IPythonUsageError

        from workbench.lab.payload import findings
        from workbench.toolchain.compilation import check_device

        try:
            source, options = self.read(text)
        except (IPythonUsageError, WorkbenchError):
            # A line that is half typed; running the cell says what is wrong with it.
            return {"diagnostics": []}
        diagnostics = findings(check_device(source, options))
        # As JSON has them: tuples become lists.
        return {"diagnostics": json.loads(json.dumps([asdict(finding) for finding in diagnostics]))}

    def isa(self, module: str, kernel: str = "") -> dict[str, Any]:
        """Machine code of a kernel, and that of the compile before.

        Args:
            module: variable that holds it.
            kernel: name of the kernel; "" for the first.

        Raises:
            UnknownKernel: no such module or kernel.
        """
        from workbench.codeobject.difference import difference
        from workbench.lab.listing import listing

        self.refresh()
        bound = self._seen.get(module)
        if bound is None:
            raise UnknownKernel(f"no module is bound to {module!r} in this kernel; run its cell again")
        if not bound.kernels:
            raise UnknownKernel(f"{module} has no kernel; is a function marked __global__?")
        selected = bound[kernel] if kernel else next(iter(bound.kernels.values()))
        before = self._previous.get(module)
        old = before.kernels.get(selected.name) if before is not None else None
        edits = None
        if old is not None:
            rows = difference(list(old.instructions), list(selected.instructions))
            edits = [[str(row.edit), row.before, row.after] for row in rows]
        return {
            "module": module,
            "edits": edits,
            "kernels": list(bound.kernels),
            "listing": listing(selected).to_dict(),
            "previous": listing(old).to_dict() if old is not None else None,
        }

    def runs(self, folder: bool = False) -> dict[str, Any]:
        """The latest runs in the folder's file, oldest first; none if none is kept, or it is damaged.

        Args:
            folder: those of all notebooks of the folder, not only of this kernel's.
        """
        recording = recorder.current()
        if recording is None or not recording.path.is_file():
            return {"runs": []}
        from workbench.history.results import History

        name = Path(recorder.notebook()).name
        try:
            history = History(recording.store)
            if not folder:
                history = history.of(notebook=name) if name else history.of(session=recording.session)
            latest = history.latest(RUNS)
        except HistoryError:
            return {"runs": []}
        return {"runs": [recorded(run) for run in latest]}

    def reference_form(self, module: str) -> dict[str, Any]:
        """Initial texts for the form of a cell's own reference (empty if its variable holds no module), and
        the likely references of the library ("used" and "fitting").
        """
        self.refresh()
        bound = self._seen.get(module)
        texts = reference.form(bound) if bound is not None else {}
        return {**texts, **reference.likely(module, bound)}

    def close_dashboard(self) -> None:
        """Ends the dashboard of the extension's panel, so that nothing is drawn while it is hidden."""
        panel = sys.modules.get("workbench.lab.panel")
        if panel is not None:
            panel.close()
