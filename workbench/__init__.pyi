"""The public names, each with the module that it is loaded from: `__init__.py` reads them here."""

from IPython.core.interactiveshell import InteractiveShell

from . import errors as errors
from . import integrations as integrations
from . import nn as nn
from . import ops as ops
from .approximation import approximate as approximate
from .bench import BenchResult as BenchResult
from .bench import TuneResult as TuneResult
from .bench import bench as bench
from .bench import sweep as sweep
from .bench import tune as tune
from .check.compare import compare as compare
from .check.results import VerifyResult as VerifyResult
from .check.sanitizer import sanitize as sanitize
from .check.sanitizer import sanitizing as sanitizing
from .check.verify import verify as verify
from .doctor import doctor as doctor
from .errors import CompileError as CompileError
from .errors import KernelFault as KernelFault
from .errors import WorkbenchError as WorkbenchError
from .exercises import CheckResult as CheckResult
from .exercises import Exercise as Exercise
from .exercises import exercise as exercise
from .exercises import exercises as exercises
from .hardware_mode import as_hardware as as_hardware
from .history.results import History as History
from .history.results import history as history
from .kernel import HostModule as HostModule
from .kernel import Kernel as Kernel
from .kernel import Launcher as Launcher
from .kernel import Loan as Loan
from .kernel import Module as Module
from .kernel import ProgramResult as ProgramResult
from .kernel import compile as compile
from .kernel import lend as lend
from .kernel import load as load
from .kernel import load_module as load_module
from .kernel import run_program as run_program
from .kernel import showing as showing
from .lateness import late_loads as late_loads
from .magics.page import save_page as save_page
from .numerics import numerics as numerics
from .operators import Choice as Choice
from .operators import KernelSpec as KernelSpec
from .operators import Launch as Launch
from .operators import Published as Published
from .operators import Range as Range
from .operators import Tolerance as Tolerance
from .operators import kernels as kernels
from .origin import Figure as Figure
from .origin import Origin as Origin
from .profile import ProfileResult as ProfileResult
from .profile import StepProfile as StepProfile
from .profile import SweepResult as SweepResult
from .profile import TimeResult as TimeResult
from .profile import XcdMap as XcdMap
from .profile import advice as advice
from .profile import profile as profile
from .profile import profile_step as profile_step
from .profile import time as time
from .profile import timeline as timeline
from .profile import xcd_map as xcd_map
from .runtime import Device as Device
from .runtime import device as device
from .runtime import devices as devices
from .step import Stepper as Stepper
from .step import provenance as provenance
from .step import step as step
from .tiles import LayoutResult as LayoutResult
from .tiles import view_layout as view_layout
from .toolchain.hipify import HipifyResult as HipifyResult
from .toolchain.hipify import hipify as hipify
from .torch_gpu import torch_as_gpu as torch_as_gpu
from .triton_driver import triton as triton
from .views.controls import panel as panel
from .views.html import report as report
from .views.live import dashboard as dashboard
from .views.xcd import view_xcd as view_xcd

__version__: str
__all__: list[str]

def load_ipython_extension(shell: InteractiveShell) -> None: ...
def unload_ipython_extension(shell: InteractiveShell) -> None: ...
